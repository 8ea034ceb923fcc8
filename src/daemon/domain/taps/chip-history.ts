import { isJsonObject, type JsonObject, parseObject } from '../../../values/json.ts'
import type { Actor, AuditRow } from '../../store/audit/audit.ts'
import { listAudit } from '../../store/audit/audit-list.ts'
import { rowOfChip } from '../../store/audit/chip-trail.ts'
import type { Db } from '../../store/database/database.ts'
import { listTaps, type ShownTap } from '../../store/taps/taps.ts'
import { chipOf, type UidReadings } from '../chips/chip-record.ts'

type Kind = 'tap' | 'change' | 'registration' | 'setup' | 'transfer' | 'claim' | 'mint' | 'assignment'

export interface HistoryEntry {
  readonly at: string
  readonly kind: Kind
  /** As in the audit log; null: a tap says nothing about who made it. */
  readonly by: string | null
  /** By column. A value is absent where an earlier version did not record it. */
  readonly changes?: Record<string, { from?: unknown; to?: unknown }>
  readonly detail?: JsonObject
}

// Entries of one moment stay together, so that the next page can begin before it.
const maxTogether = 20

/** Newest first. @param before a date @throws DomainError not_found */
export async function chipHistory(
  { db }: { db: Pick<Db, 'read' | 'slow'> },
  actor: Pick<Actor, 'ofTeam'>,
  readings: UidReadings,
  { before: until, limit }: { before?: string | undefined; limit: number },
): Promise<HistoryEntry[]> {
  const { uid } = await chipOf(db.read, actor, readings)
  const page = { uid, until, teamId: actor.ofTeam, limit: limit + maxTogether }
  const entries = (await listAudit(db.slow, page)).map((row) => ofChange(row, uid))
  const taps = (await listTaps(db.slow, page)).map(ofTap)
  const all = [...entries, ...taps].sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
  let end = Math.min(limit, all.length)
  while (end > 0 && end < all.length && all[end]?.at === all[end - 1]?.at) end += 1
  return all.slice(0, end)
}

const ofTap = ({ at, outcome, counter, via, tamper, fileData }: ShownTap): HistoryEntry => ({
  at,
  kind: 'tap',
  by: null,
  detail: { outcome, counter, via, ...(tamper ? { tamper } : {}), ...(fileData ? { fileData } : {}) },
})

const kinds: Readonly<Record<string, Kind>> = {
  'chips.import': 'registration',
  'chips.undo-import': 'registration',
  'chips.replace': 'registration',
  'chips.remove': 'registration',
  'chips.provision': 'setup',
  'chips.reset': 'setup',
  'phygitals.mint': 'mint',
  'guestbook.mint': 'mint',
  'badge-events.mint': 'mint',
  nfc: 'setup',
  phygitals: 'transfer',
  'claim-registrations': 'claim',
  guestbook: 'assignment',
  'badge-events': 'assignment',
}

const kindOf = (action: string, status: unknown): Kind =>
  status === 'created' || status === 'removed'
    ? 'registration'
    : (kinds[action] ?? kinds[action.split('.')[0] ?? ''] ?? 'change')

/** What concerns other chips, finds entries, or is shown as changes. Lists do too. */
const left = new Set([
  ...['changes', 'redirectUrl', 'before', 'registeredAt', 'tokenRow', 'owner'],
  ...['created', 'changed', 'unchanged', 'removed', 'failed', 'assigned', 'unassigned'],
])

function ofChange(row: AuditRow, uid: string): HistoryEntry {
  const { at, action, actor, target, batch } = row
  const detail = parseObject(row.detail) ?? {}
  const changes = changesOf(action, detail, uid)
  const about = Object.fromEntries(
    Object.entries(detail).filter(
      ([name, value]) => !left.has(name) && !(name in (changes ?? {})) && !Array.isArray(value),
    ),
  )
  const { redirectUrl } = detail
  return {
    at,
    kind: kindOf(action, rowOfChip(detail, uid)?.status),
    by: actor,
    ...(changes ? { changes } : {}),
    detail: {
      action,
      ...(target === uid ? {} : { target }),
      ...(batch === null ? {} : { batch }),
      ...about,
      ...(changes || redirectUrl === undefined ? {} : { redirectUrl }),
    },
  }
}

const editsOfUrl = new Set(['chips.edit', 'chips.batch', 'chips.edit-self'])

function changesOf(action: string, detail: JsonObject, uid: string): HistoryEntry['changes'] {
  const row = rowOfChip(detail, uid)
  for (const changes of [detail.changes, row?.changes])
    if (isJsonObject(changes))
      return Object.fromEntries(
        Object.entries(changes).flatMap(([column, change]) =>
          isJsonObject(change) ? [[column, change]] : [],
        ),
      )
  if (action === 'phygitals.transfer')
    return { owner: { ...('owner' in detail ? { from: detail.owner } : {}), to: detail.recipient } }
  if (action === 'chips.provision' && 'before' in detail) {
    const { before, keySet, generation } = detail
    const from = isJsonObject(before) ? before : { keySet: null, generation: null }
    return {
      keySet: { from: from.keySet, to: keySet },
      generation: { from: from.generation, to: generation },
    }
  }
  if (!editsOfUrl.has(action)) return undefined
  const from = row?.previous
  const to = row?.redirectUrl ?? (row && 'redirectUrl' in row ? null : detail.redirectUrl)
  return { redirectUrl: { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) } }
}
