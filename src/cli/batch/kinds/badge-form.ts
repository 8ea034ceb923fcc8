import { randomBytes } from 'node:crypto'
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { isDay } from '../../../values/date.ts'
import { ImageJudge } from '../../../values/image.ts'
import type { Upload } from '../../client/types.ts'
import { CliError } from '../../errors.ts'
import { fileProblem } from '../../file-problem.ts'

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

export function* eventProblems(
  cells: Cells,
  judge: (path: string) => string | undefined,
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
  for (const column of ['requestedCodes', 'maxPerRecipient'])
    if (cells[column] && !/^\d{1,7}$/.test(cells[column]))
      yield { column, why: `"${cells[column]}" must be a whole number` }
  const why = cells.image ? judge(cells.image) : undefined
  if (why !== undefined) yield { column: 'image', why: `"${cells.image}" ${why}` }
}

/** Reads each image once, however many rows of a sheet have it. */
export const imageJudge = () => {
  const known = new Map<string, string | undefined>()
  return (path: string): string | undefined => {
    if (!known.has(path)) known.set(path, imageProblem(path))
    return known.get(path)
  }
}

const pieceSize = 64 * 1024

/** Judges an image as the daemon does, and reads no more of it than that takes. */
const imageProblem = (path: string): string | undefined => {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    if (!found) return 'does not exist'
    if (!found.isFile()) return 'is not a file'
    return judge(path)
  } catch (error) {
    const problem = fileProblem(error, { path, verb: 'read' })
    if (problem === undefined) throw error
    return problem.message.slice(path.length + 1, -1)
  }
}

const judge = (path: string): string | undefined => {
  const judging = new ImageJudge()
  const piece = Buffer.alloc(pieceSize)
  const file = openSync(path, 'r')
  try {
    for (;;) {
      const size = readSync(file, piece)
      if (size === 0) break
      const flaw = judging.push(piece.subarray(0, size))
      if (flaw) return flaw.reason
    }
    const judged = judging.end()
    return judged.kind === 'image' ? undefined : judged.reason
  } finally {
    closeSync(file)
  }
}

/** The form that the daemon takes. The image is read for each event anew, so that a batch holds one at a time. */
export const eventForm = (cells: Cells): Upload => {
  const boundary = `tapchip-${randomBytes(18).toString('hex')}`
  const { image = '', ...given } = cells
  const fields = {
    description: '',
    city: '',
    country: '',
    virtualEvent: 'false',
    privateEvent: 'false',
    ...given,
  }
  const part = (disposition: string) => `--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n`
  const texts = Object.entries(fields).map(([name, value]) => `${part(`name="${name}"`)}\r\n${value}\r\n`)
  const file = `${part('name="image"; filename="image"')}content-type: application/octet-stream\r\n\r\n`
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    content: [Buffer.from(texts.join('') + file), bytesOf(image), Buffer.from(`\r\n--${boundary}--\r\n`)],
  }
}

/** Judged again: the path may come from the journal of another machine, and no other file may leave this one. */
const bytesOf = (path: string): Buffer => {
  const why = imageProblem(path)
  if (why !== undefined) throw new CliError(`The image ${path} ${why}.`)
  try {
    return readFileSync(path)
  } catch (cause) {
    throw new CliError(`The image ${path} cannot be read.`, { cause })
  }
}
