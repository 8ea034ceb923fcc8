import * as z from 'zod'
import { withRef } from '../../../values/redirect-url.ts'
import { badgeEventsOf } from '../../store/badge-events.ts'
import type { TappedChip } from '../../store/chips.ts'
import type { Db, Queries } from '../../store/database.ts'
import { findItem } from '../../store/items.ts'
import { linksOfTeam } from '../../store/links.ts'
import { findPageVisit, hashCode, insertPageVisit, insertRef } from '../../store/refs.ts'
import type { RefRow } from '../../store/schema.ts'
import type { SecretBox } from '../../store/secret-box.ts'
import { type ListedBadgeEvent, listedNow } from '../badge-status.ts'
import type { CodeSource } from '../codes/otps.ts'
import { type Clock, iso } from '../time.ts'
import { type TakeTapDeps, takeTap } from './take-tap.ts'
import type { TapQuery } from './verify-tap.ts'

/** The response to a person who opens a chip's URL. */
export type TapResponse =
  | { kind: 'redirect'; url: string }
  | ({ kind: 'page'; cookie: { value: string; maxAgeSeconds: number } | undefined } & TapPageContent)
  | { kind: 'refused'; status: 400 | 404 | 410; reason: RefusalReason }

export type RefusalReason = 'replayed' | 'caught-up' | 'unknown' | 'malformed' | 'disabled'

export interface TapPageContent {
  ref: string
  uid: string
  item: { name: string; description: string } | undefined
  token: { contractAddress: string; tokenId: string } | undefined
  badges: ({ title: string; description: string } & Pick<
    ListedBadgeEvent,
    'status' | 'startDate' | 'expiryDate'
  >)[]
  /** Third-party links, each with its own ref. */
  links: { label: string; url: string }[]
}

type Deps = TakeTapDeps & {
  codes: CodeSource
  box: SecretBox
  /** Milliseconds. */
  refLifetime: number
  otpLifetime: number
  wire: { refParameter: string }
}

/** The same browser, identified by its cookie, can reload the page until its codes expire. */
export async function openTap(deps: Deps, query: TapQuery, cookie: string | undefined): Promise<TapResponse> {
  const judged = await takeTap(deps, query, 'page', (trx, { chip, tapId, counter, now }) =>
    makeRefs(trx, deps, { chip, tapId, counter, now }),
  )
  switch (judged.kind) {
    case 'malformed':
      return { kind: 'refused', status: 400, reason: 'malformed' }
    case 'unknown':
    case 'forged':
      return { kind: 'refused', status: 404, reason: 'unknown' }
    case 'disabled':
      return { kind: 'refused', status: 404, reason: 'disabled' }
    case 'caught-up':
      return { kind: 'refused', status: 410, reason: 'caught-up' }
    case 'replayed': {
      // A disabled chip would otherwise ask for one more tap, again and again.
      if (judged.chip.disabledAt !== null) return { kind: 'refused', status: 404, reason: 'disabled' }
      const page = cookie === undefined ? undefined : await reload(deps, judged.chip, judged.counter, cookie)
      return page ?? { kind: 'refused', status: 410, reason: 'replayed' }
    }
    case 'taken': {
      const { chip, result } = judged
      if (chip.redirectUrl !== null) {
        return { kind: 'redirect', url: withRef(chip.redirectUrl, deps.wire.refParameter, result.own) }
      }
      const maxAgeSeconds = Math.floor(visitLifetime(deps) / 1000)
      const page = await contentOf(deps, chip, result.own, new Map(result.links))
      return { kind: 'page', cookie: { value: result.cookie, maxAgeSeconds }, ...page }
    }
  }
}

// Codes can be created until the ref expires, and then live on.
const visitLifetime = (deps: Deps): number => deps.refLifetime + deps.otpLifetime

interface Made extends PageRefs {
  cookie: string
}

async function makeRefs(
  trx: Queries,
  deps: Deps,
  { chip, tapId, counter, now }: { chip: TappedChip; tapId: number; counter: number; now: number },
): Promise<Made> {
  const times = { createdAt: iso(now), expiresAt: iso(now + deps.refLifetime) }
  const make = async (kind: RefRow['kind']): Promise<string> => {
    const id = deps.codes.code()
    await insertRef(trx, id, { kind, chipUid: chip.uid, tapId, ...times })
    return id
  }
  const made: Made = { own: await make('redirect'), links: [], cookie: deps.codes.code() }
  if (chip.redirectUrl !== null) return made
  for (const link of await linksOfTeam(trx, chip.teamId)) made.links.push([link.id, await make('link')])
  await insertPageVisit(trx, made.cookie, {
    refHash: hashCode(made.own),
    chipUid: chip.uid,
    counter,
    refs: sealPageRefs(deps.box, made),
    expiresAt: iso(now + visitLifetime(deps)),
  })
  return made
}

async function reload(
  deps: Deps,
  chip: TappedChip,
  counter: number,
  cookie: string,
): Promise<TapResponse | undefined> {
  const visit = await findPageVisit(deps.db.read, cookie)
  const isSame = visit && visit.chipUid === chip.uid && visit.counter === counter
  if (!isSame || visit.expiresAt <= iso(deps.clock.now())) return undefined
  const { own, links } = openPageRefs(deps.box, visit.refs)
  return { kind: 'page', cookie: undefined, ...(await contentOf(deps, chip, own, new Map(links))) }
}

async function contentOf(
  deps: { db: Db; clock: Clock; wire: { refParameter: string } },
  chip: TappedChip,
  ref: string,
  refs: ReadonlyMap<number, string>,
): Promise<TapPageContent> {
  const item = chip.itemId === null ? undefined : await findItem(deps.db.read, chip.teamId, chip.itemId)
  const links = await linksOfTeam(deps.db.read, chip.teamId)
  const now = iso(deps.clock.now())
  const events = chip.hasBadgeEvents ? await badgeEventsOf(deps.db.read, chip) : []
  return {
    ref,
    uid: chip.uid,
    item: item && { name: item.name, description: item.description },
    token:
      chip.linkedAddress === null || chip.linkedTokenId === null
        ? undefined
        : { contractAddress: chip.linkedAddress, tokenId: chip.linkedTokenId },
    badges: listedNow(events, now).map(({ name, description, shownTitle, shownDescription, ...event }) => ({
      title: shownTitle || name,
      description: shownDescription || description,
      status: event.status,
      startDate: event.startDate,
      expiryDate: event.expiryDate,
    })),
    links: links.flatMap(({ id, label, baseUrl }) => {
      const own = refs.get(id)
      return own === undefined ? [] : [{ label, url: withRef(baseUrl, deps.wire.refParameter, own) }]
    }),
  }
}

/** A tap page's own ref, and those of its links by link ID. */
interface PageRefs {
  own: string
  links: [linkId: number, ref: string][]
}

const sealContext = 'pageVisits:refs'
const shape = z.object({ own: z.string(), links: z.array(z.tuple([z.number(), z.string()])) })

/** Refs are stored as hashes, but a reloaded page needs the originals. */
const sealPageRefs = (box: SecretBox, { own, links }: PageRefs): Buffer =>
  box.seal(Buffer.from(JSON.stringify({ own, links })), sealContext)

const openPageRefs = (box: SecretBox, sealed: Uint8Array): PageRefs =>
  shape.parse(JSON.parse(box.open(sealed, sealContext).toString()))
