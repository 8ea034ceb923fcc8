// The code that draws labels is as large as half of the program, so the build makes a file of its own of this one, which is
// loaded when labels are printed. It has no code of ours: that would be there twice.
export { create as openFont, type Font } from 'fontkit'
export { default as PDFDocument } from 'pdfkit'
export { default as encodeQR } from 'qr'
