import { bothForms, colons } from '../uid.ts'
import type { Label } from './chips.ts'
import type { encodeQR, Font, PDFDocument } from './libraries.ts'
import type { Sheet } from './sheet.ts'
import { type Face, faceFor, fitText, leading, printable, type TextBox } from './typefaces.ts'

type Document = InstanceType<typeof PDFDocument>

export interface Drawing {
  readonly doc: Document
  readonly encodeQR: typeof encodeQR
  readonly sheet: Sheet
  /** The text of the QR code. */
  readonly qrOf: (uid: string) => string
  readonly logo: Logo | undefined
  readonly font: Font | undefined
}

/** Opened by pdfkit, so that it is in the file once however often it is drawn. */
export interface Logo {
  readonly image: PDFKit.Mixins.ImageSrc
  /** Pixels. */
  readonly width: number
  readonly height: number
}

const points = (mm: number): number => (mm * 72) / 25.4
const faces: Readonly<Record<Face, string>> = { regular: 'Helvetica', bold: 'Helvetica-Bold', own: 'own' }
/** Millimetres between the edge of a label and its text. */
const padding = 2
/** The blank edge that a QR code needs, in modules. */
const quiet = 4
/** Maximum share of the label's width. */
const qrShare = 0.4

/** A character that no font here has, and the text that it stands in. */
export interface Unwritable {
  readonly text: string
  readonly character: string
}

interface Text {
  readonly text: string
  readonly face: Face
}

interface Texts {
  readonly title: Text
  readonly below: Text | undefined
}

/** The texts of a label beside its UID: with the label large, or what there is of the rest. */
export const textsOf = (label: Label, font: Font | undefined): Texts | Unwritable => {
  const [first = colons(label.uid), second = ''] = [label.label, label.item]
    .map((text) => printable(text ?? ''))
    .filter(Boolean)
  const title = faceFor(first, 'bold', font)
  if ('missing' in title) return { text: first, character: title.missing }
  if (second === '') return { title: { text: first, ...title }, below: undefined }
  const below = faceFor(second, 'regular', font)
  if ('missing' in below) return { text: second, character: below.missing }
  return { title: { text: first, ...title }, below: { text: second, ...below } }
}

/** @param at the place on the current page, from 0 */
export const drawLabel = (drawing: Drawing, { uid }: Label, { title, below }: Texts, at: number): void => {
  const { doc, sheet, logo } = drawing
  const place = sheet.places[at] ?? { x: 0, y: 0 }
  const box = {
    x: points(place.x),
    y: points(place.y),
    width: points(sheet.label.width),
    height: points(sheet.label.height),
  }
  const side = Math.min(box.height, box.width * qrShare)
  drawQR(drawing, uid, { x: box.x, y: box.y + (box.height - side) / 2, side })
  const x = box.x + side
  const width = box.x + box.width - points(padding) - x
  let top = box.y + points(padding)
  const bottom = box.y + box.height - points(padding)
  const write = (text: Text, room: Omit<TextBox, 'width'>, fromBottom?: number): number => {
    const { size, lines } = fitText(text.text, { width, ...room }, measureBy(doc, text.face))
    const height = lines.length * size * leading
    doc.font(faces[text.face], size)
    lines.forEach((line, i) => {
      doc.text(line, x, (fromBottom === undefined ? top : fromBottom - height) + i * size * leading, {
        lineBreak: false,
      })
    })
    return height
  }
  const height = bottom - top
  if (logo) {
    const maxSize = height * 0.22
    const scale = Math.min(width / logo.width, maxSize / logo.height)
    doc.image(logo.image, x, top, { width: logo.width * scale, height: logo.height * scale })
    top += logo.height * scale + 4
  }
  const small = { lines: 1, maxSize: 7.5, minSize: 4, height: height / 4 }
  let end = bottom
  for (const text of [colons(uid), uid]) end -= write({ text, face: 'regular' }, small, end)
  const space = end - top
  top += write(title, { lines: 2, maxSize: 20, minSize: 7, height: below ? space * 0.62 : space })
  if (below) write(below, { lines: 2, maxSize: 9, minSize: 5, height: end - top })
}

/** Dark modules as one path: a gap between two would be seen on some screens. */
const drawQR = (
  { doc, encodeQR, qrOf }: Drawing,
  uid: string,
  { x, y, side }: { readonly x: number; readonly y: number; readonly side: number },
): void => {
  const text = qrOf(uid)
  // The smallest version has nothing in its fourth corner, by which scanners tell one of many on a sheet from the next.
  const how = text === uid ? ({ version: 2, ecc: 'high' } as const) : ({ ecc: 'medium' } as const)
  const modules = encodeQR(text, 'raw', { ...how, border: quiet })
  doc
    .save()
    .translate(x, y)
    .scale(side / modules.length)
  modules.forEach((row, line) => {
    for (let from = row.indexOf(true); from >= 0; ) {
      const light = row.indexOf(false, from)
      const to = light < 0 ? row.length : light
      doc.rect(from, line, to - from, 1)
      from = row.indexOf(true, to)
    }
  })
  doc.fill('black').restore()
}

const measureBy = (doc: Document, face: Face) => {
  doc.font(faces[face], 1)
  return (text: string): number => doc.widthOfString(text)
}

/** Names a label in an error message. */
export const nameOf = ({ uid, label }: Label): string =>
  label === null ? bothForms(uid) : `"${label}" (${colons(uid)})`
