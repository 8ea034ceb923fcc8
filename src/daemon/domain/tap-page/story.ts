import { parseObject } from '../../../values/json.ts'
import { moveKinds } from '../../store/chain/intents.ts'
import type { Db } from '../../store/database/database.ts'
import { type TokenLocation, tokenTopic } from '../../store/phygitals/tokens.ts'
import { type StoryRow, storyOf } from '../../store/tap-page/story.ts'
import type { PageOfChip } from '../../store/tap-page/tap-pages.ts'

export type StoryKind = 'setup' | 'minted' | 'claimed' | 'badge' | 'guestbook' | 'seal' | 'note'

/** Without a place, a wallet, an email address, and a time: those who tap a chip are nobody's business. */
export interface StoryEntry {
  /** YYYY-MM-DD, UTC. */
  day: string
  is: StoryKind
  /** Name of an event, or a team's note. */
  text: string | undefined
  /** On that day. */
  count: number
}

const maxEntries = 20

/** @param token the chip's, if it has one */
export const readStory = (
  { db }: { db: Pick<Db, 'read'> },
  uid: string,
  token: TokenLocation | undefined,
): Promise<StoryRow[]> => storyOf(db.read, { uid, topic: token ? tokenTopic(token) : '', limit: maxEntries })

/** Newest first. */
export function storyEntries(
  rows: readonly StoryRow[],
  { createdAt, tamper }: Pick<PageOfChip, 'createdAt' | 'tamper'>,
): StoryEntry[] {
  const own: Told[] = [
    { at: createdAt, is: 'setup' },
    ...(tamper?.is === 'open' ? [{ at: tamper.since, is: 'seal' as const }] : []),
  ]
  const newestFirst = [...rows.flatMap(toldBy), ...own].sort((a, b) =>
    a.at < b.at ? 1 : a.at > b.at ? -1 : 0,
  )
  const entries = new Map<string, StoryEntry>()
  for (const { at, is, text } of newestFirst) {
    const day = dayOf(at)
    const key = JSON.stringify([day, is, text])
    const known = entries.get(key)
    if (known) known.count += 1
    else entries.set(key, { day, is, text, count: 1 })
  }
  return [...entries.values()].slice(0, maxEntries)
}

interface Told {
  at: string
  is: StoryKind
  text?: string | undefined
}

const kinds = new Map<string, StoryKind>([
  [moveKinds.mintNFT, 'minted'],
  [moveKinds.claimNFT, 'claimed'],
  ['badge', 'badge'],
  ['guestbook', 'guestbook'],
  ['note', 'note'],
])

function toldBy({ is, at, text }: StoryRow): Told[] {
  const kind = kinds.get(is)
  return kind === undefined || at === null ? [] : [{ at, is: kind, text: text ?? undefined }]
}

const dayOf = (at: string): string => at.slice(0, 10)

/**
 * The day (YYYY-MM-DD, UTC) on which this daemon gave the token to its owner; undefined: somebody else did.
 * @param owner its address
 */
export function heldSince(rows: readonly StoryRow[], owner: string | undefined): string | undefined {
  let last: StoryRow | undefined
  for (const row of rows) if (row.subject !== null && row.id > (last?.id ?? 0)) last = row
  const recipient = parseObject(last?.subject ?? '')?.recipient
  const isTheirs = typeof recipient === 'string' && recipient.toLowerCase() === owner?.toLowerCase()
  return isTheirs && last?.at ? dayOf(last.at) : undefined
}
