import { createHash, randomBytes } from 'node:crypto'
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { isEventUrl, maxEventCodes, maxEventText } from '../../../values/badge-event.ts'
import { isDay } from '../../../values/date.ts'
import { ImageJudge } from '../../../values/image.ts'
import type { Upload } from '../../client/types.ts'
import { CliError } from '../../errors.ts'
import { fileProblem, withFiles } from '../../file-problem.ts'

export const eventColumns = [
  'name',
  'description',
  'city',
  'country',
  'startDate',
  'endDate',
  'expiryDate',
  'eventURL',
  'virtualEvent',
  'privateEvent',
  'requestedCodes',
  'maxPerRecipient',
  'image',
] as const

export const eventNeeds = ['name', 'startDate', 'endDate', 'expiryDate', 'requestedCodes', 'image'] as const

type Cells = Readonly<Record<string, string>>

/** An image that the daemon would take. */
interface GoodImage {
  /** SHA-256, in hex. */
  readonly hash: string
  readonly type: string
}
export type JudgedImage = GoodImage | { readonly reason: string }

export function* eventProblems(
  cells: Cells,
  imageAt: (path: string) => JudgedImage,
): Generator<{ column: string; why: string }> {
  for (const column of eventNeeds) if (!cells[column]) yield { column, why: 'is missing' }
  const days = (['startDate', 'endDate', 'expiryDate'] as const).map((column) => ({
    column,
    day: cells[column],
  }))
  for (const { column, day } of days)
    if (day && !isDay(day)) yield { column, why: `"${day}" must be a valid date, as YYYY-MM-DD` }
  for (const [earlier, later] of [
    ['startDate', 'endDate'],
    ['endDate', 'expiryDate'],
  ] as const) {
    const [from = '', to = ''] = [cells[earlier], cells[later]]
    if (isDay(from) && isDay(to) && to < from) yield { column: later, why: `must not be before ${earlier}` }
  }
  for (const column of ['virtualEvent', 'privateEvent'])
    if (!/^(true|false|1|0|)$/i.test(cells[column] ?? ''))
      yield { column, why: `"${cells[column]}" must be true or false` }
  for (const [column, min] of Object.entries({ requestedCodes: 0, maxPerRecipient: 1 })) {
    const cell = cells[column]
    if (cell && !(/^\d{1,7}$/.test(cell) && Number(cell) >= min && Number(cell) <= maxEventCodes))
      yield { column, why: `"${cell}" must be a whole number from ${min} to ${maxEventCodes}` }
  }
  for (const [column, max] of Object.entries(maxEventText))
    if ((cells[column]?.length ?? 0) > max) yield { column, why: `must be at most ${max} characters` }
  if (!isEventUrl(cells.eventURL ?? ''))
    yield { column: 'eventURL', why: `"${cells.eventURL}" must be an http(s) URL` }
  const image = cells.image ? imageAt(cells.image) : undefined
  if (image && 'reason' in image) yield { column: 'image', why: `"${cells.image}" ${image.reason}` }
}

/** Reads each image once, however many rows of a sheet have it. */
export const imageJudge = () => {
  const known = new Map<string, JudgedImage>()
  return (path: string): JudgedImage => {
    const judged = known.get(path) ?? judgeImage(path)
    known.set(path, judged)
    return judged
  }
}

const pieceSize = 64 * 1024

/** Judges an image as the daemon does, and reads no more of it than that takes. */
const judgeImage = (path: string): JudgedImage => {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    if (!found) return { reason: 'does not exist' }
    if (!found.isFile()) return { reason: 'is not a file' }
    return judge(path)
  } catch (error) {
    const problem = fileProblem(error, { path, verb: 'read' })
    if (problem === undefined) throw error
    return { reason: problem.message.slice(path.length + 1, -1) }
  }
}

const judge = (path: string): JudgedImage => {
  const judging = new ImageJudge()
  const sum = createHash('sha256')
  const piece = Buffer.alloc(pieceSize)
  const file = openSync(path, 'r')
  try {
    for (;;) {
      const size = readSync(file, piece)
      if (size === 0) break
      const flaw = judging.push(piece.subarray(0, size))
      if (flaw) return flaw
      sum.update(piece.subarray(0, size))
    }
    const judged = judging.end()
    return judged.kind === 'image' ? { hash: sum.digest('hex'), type: judged.type } : judged
  } finally {
    closeSync(file)
  }
}

/** The form that the daemon takes. */
export const eventForm = (cells: Cells): Upload => {
  const boundary = `tapchip-${randomBytes(18).toString('hex')}`
  const { image = '', ...rest } = cells
  const fields = {
    description: '',
    city: '',
    country: '',
    virtualEvent: 'false',
    privateEvent: 'false',
    ...rest,
  }
  const part = (disposition: string) => `--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n`
  const texts = Object.entries(fields).map(([name, value]) => `${part(`name="${name}"`)}\r\n${value}\r\n`)
  const file = `${part('name="image"; filename="image"')}content-type: application/octet-stream\r\n\r\n`
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    content: [Buffer.from(texts.join('') + file), bytesOf(image), Buffer.from(`\r\n--${boundary}--\r\n`)],
  }
}

const bytesOf = (path: string): Buffer =>
  withFiles({ path: `The image ${path}`, verb: 'read' }, () => readFileSync(path))

/** @throws CliError if it is no longer the image that was judged */
export const sameBytesOf = (path: string, hash: string): Buffer => {
  const bytes = bytesOf(path)
  if (createHash('sha256').update(bytes).digest('hex') === hash) return bytes
  throw new CliError(`The image ${path} was changed after it was checked.`, {
    advice: 'Run the command again.',
  })
}
