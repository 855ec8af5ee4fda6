// The picture of the face detector, as the rest of the page sees it.

/** Lets go of the picture and of the camera. The code of the detector fills it in (face.ts). */
export const pictures: { forget: () => void } = { forget: () => undefined };
