import { inflateSync } from 'node:zlib'
import decodeQR from 'qr/decode.js'

type Matrix = readonly [number, number, number, number, number, number]
const times = (m: Matrix, n: Matrix): Matrix => [
  m[0] * n[0] + m[1] * n[2],
  m[0] * n[1] + m[1] * n[3],
  m[2] * n[0] + m[3] * n[2],
  m[2] * n[1] + m[3] * n[3],
  m[4] * n[0] + m[5] * n[2] + n[4],
  m[4] * n[1] + m[5] * n[3] + n[5],
]

export interface DrawnPage {
  /** Of the page, in points. */
  size: readonly number[]
  /** What its QR codes say, in the order in which they were drawn. */
  codes: string[]
  /** The left and the upper edge of the dark part of each, in millimetres from those of the page. */
  corners: { x: number; y: number }[]
  /** What its texts show, in built-in fonts. */
  text: string
  images: number
}

/** Reads pages from the operators of a PDF: what is filled is what is dark. */
export function readPdf(pdf: Buffer): DrawnPage[] {
  const raw = pdf.toString('latin1')
  const sizes = [...raw.matchAll(/\/MediaBox \[([\d. ]+)\]/g)].map(([, box = '']) =>
    box.split(' ').map(Number),
  )
  const contents = [...raw.matchAll(/stream\n(.*?)\nendstream/gs)].flatMap(([, data = '']) => {
    try {
      const text = inflateSync(Buffer.from(data, 'latin1')).toString('latin1')
      // Every page begins by turning its axis.
      return /^1 0 0 -1 0 /.test(text) ? [text] : []
    } catch {
      return []
    }
  })
  return contents.map((content, i) => readPage(content, sizes[i] ?? []))
}

function readPage(content: string, [, , width = 0, height = 0]: readonly number[]): DrawnPage {
  const codes: string[] = []
  const corners: { x: number; y: number }[] = []
  let matrix: Matrix = [1, 0, 0, 1, 0, 0]
  const saved: Matrix[] = []
  let path: number[][] = []
  let numbers: number[] = []
  for (const token of content.replace(/BT.*?ET/gs, '').split(/\s+/)) {
    if (/^-?[\d.]+$/.test(token)) {
      numbers.push(Number(token))
      continue
    }
    if (token === 'q') saved.push(matrix)
    if (token === 'Q') matrix = saved.pop() ?? matrix
    if (token === 'cm') matrix = times(numbers as unknown as Matrix, matrix)
    if (token === 're') path.push(numbers)
    if (/^f\*?$/.test(token)) {
      codes.push(decodeQR(bitmapOf(path)))
      const [a, , , d, e, f] = matrix
      const [x = 0, y = 0] = path[0] ?? []
      const mm = (points: number) => (points * 25.4) / 72
      corners.push({ x: mm(e + a * x), y: mm(height - (f + d * y)) })
      path = []
    }
    numbers = []
  }
  const shown = [...content.matchAll(/\[((?:<[0-9a-f]*>|[-\d. ]+)+)\] TJ/g)].map(([, parts = '']) =>
    [...parts.matchAll(/<([0-9a-f]*)>/g)]
      .map(([, hex = '']) => Buffer.from(hex, 'hex').toString('latin1'))
      .join(''),
  )
  return {
    size: [width, height],
    codes,
    corners,
    text: shown.join('\n'),
    images: content.split(' Do').length - 1,
  }
}

/** Modules of whole numbers, as a picture. */
function bitmapOf(path: readonly number[][]) {
  const scale = 4
  const side = (Math.max(...path.map(([x = 0, , w = 0]) => x + w)) + 4) * scale
  const data = new Uint8Array(side * side * 4).fill(255)
  for (const [x = 0, y = 0, w = 0, h = 0] of path)
    for (let row = y * scale; row < (y + h) * scale; row += 1)
      for (let column = x * scale; column < (x + w) * scale; column += 1)
        data.fill(0, (row * side + column) * 4, (row * side + column) * 4 + 3)
  return { width: side, height: side, data }
}
