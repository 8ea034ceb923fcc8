import { nanoid } from 'nanoid'
import { isEventUrl, maxEventCodes, maxEventText } from '../../../../values/badge-event.ts'
import type { JsonObject } from '../../../../values/json.ts'
import type { NewBadgeEvent } from '../../../badges/provider.ts'
import { eventOfContent } from '../../../store/badge-events/badge-contents.ts'
import { hashesOfBatch } from '../../../store/batches/batch-files.ts'
import { assertSound, contentHash, createBadgeEvent, createdBefore } from '../../badge-events/create.ts'
import type { ReceivedImage } from '../../badge-events/image.ts'
import { IdempotencyConflict } from '../../chain/transactions.ts'
import { DomainError, storeFailure } from '../../errors/errors.ts'
import type { BatchDeps, NumberedRow, RowResult, SentKind } from '../kind.ts'
import { openFile } from '../pieces.ts'
import { LineProblem, lineReader, refuseOthers, textIn } from './lines.ts'
import { claimOfRow, isPassing } from './sent-rows.ts'

/** `image` is the SHA-256 of a file of the batch. */
export type EventLine = NumberedRow & NewBadgeEvent & { readonly image: string }

export interface EventResult extends RowResult {
  readonly name?: string
  readonly id?: number
}

const days = ['startDate', 'endDate', 'expiryDate'] as const
const known = new Set([
  ...['row', 'name', 'description', 'city', 'country', ...days, 'eventURL', 'virtualEvent', 'privateEvent'],
  ...['requestedCodes', 'maxPerRecipient', 'image'],
])

/** Parses a boolean cell of a sheet. @throws LineProblem */
function flagIn(line: JsonObject, name: string): boolean {
  const text = String(line[name] ?? '').trim()
  if (!/^(true|false|1|0|)$/i.test(text)) throw new LineProblem(`${name} must be true or false`)
  return /^(true|1)$/i.test(text)
}

/** @throws LineProblem */
function numberIn(line: JsonObject, name: string, min: number, absent?: number): number {
  const text = String(line[name] ?? '')
  if (text === '' && absent !== undefined) return absent
  const number = /^\d{1,7}$/.test(text) ? Number(text) : Number.NaN
  if (number >= min && number <= maxEventCodes) return number
  throw new LineProblem(`${name} must be a whole number from ${min} to ${maxEventCodes}`)
}

/** @throws LineProblem */
function urlIn(line: JsonObject): string {
  const url = textIn(line, 'eventURL', maxEventText.eventURL) ?? ''
  if (isEventUrl(url)) return url
  throw new LineProblem('eventURL must be an http(s) URL')
}

/** @throws LineProblem */
function imageIn(line: JsonObject): string {
  const image = textIn(line, 'image', 64) ?? ''
  if (/^[0-9a-f]{64}$/.test(image)) return image
  throw new LineProblem('image must be the SHA-256 of a file of the batch, in hex')
}

const readRow = lineReader<EventLine, unknown>((line, row) => {
  refuseOthers(line, known)
  const text = (name: 'name' | 'description' | 'city' | 'country') =>
    textIn(line, name, maxEventText[name]) ?? ''
  const day = (name: string) => (textIn(line, name, 32) ?? '').trim()
  if (text('name').trim() === '') throw new LineProblem('name is missing')
  return {
    row,
    name: text('name'),
    description: text('description'),
    city: text('city'),
    country: text('country'),
    startDate: day('startDate'),
    endDate: day('endDate'),
    expiryDate: day('expiryDate'),
    eventUrl: urlIn(line),
    virtualEvent: flagIn(line, 'virtualEvent'),
    privateEvent: flagIn(line, 'privateEvent'),
    requestedCodes: numberIn(line, 'requestedCodes', 0),
    maxPerRecipient: numberIn(line, 'maxPerRecipient', 1, 1),
    image: imageIn(line),
  }
})

const noFile = 'its image was not uploaded'

async function planned(
  deps: BatchDeps,
  teamId: number,
  { row, image, ...event }: EventLine,
  { files, seen }: { files: ReadonlySet<string>; seen: Map<string, number> },
): Promise<EventResult> {
  const about = { row, name: event.name }
  if (!files.has(image)) return { ...about, status: 'failed', error: noFile }
  try {
    assertSound(event, deps.badges.providers.current.name === 'poap')
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    return { ...about, status: 'failed', error: error.message }
  }
  const hash = contentHash(event, image)
  const id = await eventOfContent(deps.db.read, { teamId, hash })
  if (id != null) return { ...about, status: 'unchanged', id }
  // An earlier row will create the same event.
  const isSame = seen.has(hash)
  seen.set(hash, row)
  return { ...about, status: isSame ? 'unchanged' : 'created' }
}

async function imageOf(deps: BatchDeps, batch: string, hash: string): Promise<ReceivedImage | undefined> {
  const found = await openFile(deps, batch, hash)
  if (!found) return undefined
  const { content } = found
  const type = found.type === 'image/gif' ? 'image/gif' : 'image/png'
  return {
    ...{ type, extension: type === 'image/gif' ? 'gif' : 'png', size: content.length, file: nanoid() },
    bytes: async function* () {
      yield content
    },
  }
}

export const badgeEventCreation: SentKind<EventLine, EventResult> = {
  names: ['badge-events create'],
  how: 'sent',
  isAdmin: false,
  scope: 'edit',
  hasFiles: true,
  // One at a time: providers slow down clients that send many requests at once.
  concurrency: 1,
  readRow,
  async plan(deps, { id, teamId }, rows, seen) {
    const files = await hashesOfBatch(deps.db.read, id)
    const results: EventResult[] = []
    for (const row of rows) results.push(await planned(deps, teamId, row, { files, seen }))
    return results
  },
  async send(deps, run, { row: line, planned: plan }, key) {
    if (plan?.status === 'failed') return plan
    const { row, image: hash, ...event } = line
    const { teamId, actor } = run
    const about = { row, name: event.name }
    const idempotency = claimOfRow(deps, run, key, { ...event, image: hash })
    let isWritten = false
    let isUnchanged = false
    try {
      const id = await deps.idempotency.run<number>({
        claim: idempotency,
        run: async (recorded) => {
          const image = await imageOf(deps, run.id, hash)
          if (!image) throw new DomainError('not_found', noFile)
          const requester = {
            ...{ teamId, actor, idempotency },
            recorded: () => {
              isWritten = true
              recorded()
            },
          }
          // A sheet that was already created creates nothing again.
          const content = { hash: contentHash(event, hash), isOnce: true }
          const created = await createBadgeEvent(deps, requester, { event, image, content })
          isUnchanged = created.isUnchanged ?? false
          return created.id
        },
        resume: async (id) => (await createdBefore(deps, id ?? 0)).id,
        answer: { parse: Number },
      })
      return { ...about, status: isUnchanged ? 'unchanged' : 'created', id }
    } catch (error) {
      if (error instanceof IdempotencyConflict) return { ...about, status: 'failed', error: error.message }
      const failure = storeFailure(error, { isWritten, isKeyed: true })
      const known = failure ?? (error instanceof DomainError ? error : undefined)
      if (!known) throw error
      if (isPassing(known.code)) return { row, retryReason: known.message }
      return { ...about, status: 'failed', error: known.message }
    }
  },
  undo: {
    refusal: 'Creating badge events cannot be undone: an event cannot be deleted.',
    advice:
      'To stop an event from giving badges: tapchip badge-events reject ID. An event at POAP is withdrawn there.',
  },
}
