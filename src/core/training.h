// Names of the constant methods that describe a method with gradients, each followed by the name of
// that method. ExecuTorch's training module looks for them.
#ifndef SC_TRAINING_H
#define SC_TRAINING_H

#define SC_TRAINING_GRADIENTS  "__et_training_gradients_index_"   // the first gradient's output
#define SC_TRAINING_PARAMETERS "__et_training_parameters_index_"  // the first parameter's output
#define SC_TRAINING_NAMES      "__et_training_fqn_"               // of the parameters, in order

#endif
