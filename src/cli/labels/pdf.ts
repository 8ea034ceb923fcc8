import { ImageJudge } from '../../values/image.ts'
import type { CliContext } from '../context.ts'
import { UsageError } from '../errors.ts'
import { formatNumber } from '../io/text.ts'
import type { Label } from './chips.ts'
import { type Drawing, drawLabel, type Logo, nameOf, textsOf } from './draw.ts'
import type { Font } from './libraries.ts'
import type { Sheet } from './sheet.ts'

export interface PdfOptions {
  readonly sheet: Sheet
  /** Places of the first sheet that have no label any more. */
  readonly skip: number
  readonly qrOf: (uid: string) => string
  readonly logo: NamedFile | undefined
  readonly font: NamedFile | undefined
}

export interface NamedFile {
  readonly name: string
  readonly content: Buffer
}

export interface PdfResult {
  readonly labels: number
  readonly pages: number
}

const shownProblems = 10

/**
 * Draws labels one after the other, and passes the PDF on page by page.
 * @throws UsageError for a logo or font that cannot be read, or for texts that cannot be written
 */
export const writePdf = async (
  ctx: CliContext,
  labels: readonly Label[],
  { sheet, skip, qrOf, ...files }: PdfOptions,
  write: (bytes: Uint8Array) => Promise<void>,
): Promise<PdfResult> => {
  // Large, and nothing else needs them.
  const libraries = await import('./libraries.ts')
  const doc = new libraries.PDFDocument({
    autoFirstPage: false,
    margin: 0,
    info: { Title: 'Labels', Creator: 'Tapchip', Producer: 'Tapchip', CreationDate: ctx.now() },
  })
  const font = files.font && openFont(files.font, libraries.openFont)
  if (font) doc.registerFont('own', font as never)
  const logo = files.logo && openLogo(doc, files.logo)
  const drawing: Drawing = { doc, encodeQR: libraries.encodeQR, sheet, qrOf, logo, font }
  const size = [sheet.page.width, sheet.page.height].map((mm) => (mm * 72) / 25.4)
  const problems: string[] = []
  let unwritten = 0
  let count = 0
  let pages = 0
  const flush = async () => {
    for (let bytes = doc.read(); bytes !== null; bytes = doc.read()) await write(bytes as Buffer)
  }
  const progress = ctx.io.progress('Drawing', labels.length)
  try {
    for (const label of labels) {
      const texts = textsOf(label, font)
      if ('character' in texts) {
        unwritten += 1
        if (unwritten <= shownProblems) problems.push(unwritable(label, texts.character))
        continue
      }
      // The remaining labels are only checked for problems.
      if (unwritten > 0) continue
      const at = (count + skip) % sheet.places.length
      if (at === 0 || count === 0) {
        await flush()
        doc.addPage({ size: size as [number, number], margin: 0 })
        pages += 1
      }
      drawLabel(drawing, label, texts, at)
      count += 1
      progress.advance(1)
    }
  } finally {
    progress.end()
  }
  if (unwritten > 0) throw refusal(problems, unwritten, files.font)
  if (count === 0) return { labels: 0, pages: 0 }
  doc.end()
  for await (const bytes of doc) await write(bytes as Buffer)
  return { labels: count, pages }
}

const unwritable = (label: Label, character: string): string => {
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
  return `${nameOf(label)}: "${character}" (U+${code})`
}

const refusal = (problems: readonly string[], count: number, font: NamedFile | undefined): UsageError => {
  const more = count - problems.length
  const shown = problems.join('; ')
  const which = font ? `${font.name} has not, nor has the built-in font` : 'the built-in font does not have'
  return new UsageError(
    `Labels have characters that ${which}: ${shown}${more > 0 ? `; and ${formatNumber(more)} more` : ''}. Nothing was written.`,
    'Give a font that has them: --font FILE.ttf, such as one of the Noto fonts.',
  )
}

/** The first font of a collection (.ttc); the others differ in weight or in regional glyphs. */
const openFont = ({ name, content }: NamedFile, open: typeof import('./libraries.ts').openFont): Font => {
  try {
    const opened = open(content)
    const font = 'fonts' in opened ? opened.fonts[0] : opened
    // A file may begin like a font, and have none of it.
    if (font?.hasGlyphForCodePoint(0x41) !== undefined) return font
  } catch {
    // Reported below.
  }
  throw new UsageError(
    `${name} is not a font that can be read.`,
    'Give a TrueType or OpenType font: .ttf, .otf, or .ttc.',
  )
}

/** Its types leave it out. */
interface Opener {
  openImage(content: Buffer): PDFKit.Mixins.ImageSrc & { readonly width: number; readonly height: number }
}

const openLogo = (doc: Drawing['doc'], { name, content }: NamedFile): Logo => {
  const flaw = flawOf(content)
  try {
    const image = (doc as Drawing['doc'] & Opener).openImage(content)
    const { width, height } = image
    if (flaw === undefined && width > 0 && height > 0) return { image, width, height }
  } catch {
    // Reported below.
  }
  throw new UsageError(
    `${name} ${flaw ?? 'is not an image that can be printed'}.`,
    'Give a PNG with 8 bits per channel, or a JPEG: --logo FILE.',
  )
}

/** pdfkit takes a PNG apart later, where an error would end the program. A JPEG goes into the PDF as it is. */
const flawOf = (content: Buffer): string | undefined => {
  if (content.length < 26 || content.readUInt32BE(0) !== 0x89504e47) return undefined
  const judge = new ImageJudge()
  const judged = judge.push(content) ?? judge.end()
  if (judged.kind !== 'image') return judged.reason
  const [bits = 8, colors] = content.subarray(24)
  // It would read several pixels as one.
  return colors === 3 && bits < 8 && content.includes('tRNS')
    ? `is transparent, and has ${bits} bits per pixel`
    : undefined
}
