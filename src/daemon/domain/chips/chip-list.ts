import { getAddress } from 'viem/utils'
import type { ChipState } from '../../../values/chip-states.ts'
import { allChipGroups, chipGroupsOfTeam } from '../../store/chips/chip-groups.ts'
import { type ChipsBy, type FoundChip, searchChips } from '../../store/chips/chip-search.ts'
import type { Db } from '../../store/database/database.ts'
import { findTokenAt } from '../../store/phygitals/tokens.ts'
import { invalid } from '../errors/errors.ts'
import { getGroup } from './chip-groups.ts'

export interface ChipListQuestion {
  teamId: number | undefined
  uids?: readonly string[] | undefined
  /** The beginning of labels. */
  label?: string | undefined
  item?: string | undefined
  token?: { contractAddress: string; chainId: number; tokenId: string } | undefined
  chipGroup?: string | undefined
  state?: ChipState | undefined
  /** Where an earlier page ended. */
  after?: string | undefined
  limit: number
}

export interface ChipPage {
  chips: (FoundChip & { chipGroup: string })[]
  /** Continues after this page, which may be shorter than the limit; null: there are no more. */
  next: string | null
}

// Queries of one request. One that looks for a state among all chips takes as long as many others.
const maxQueries = 100
const walkCost = 30
const cursorPattern = /^(\d{1,15}):([\s\S]*)$/

/** By UID, label, item, token, or group: each has an index. @throws DomainError invalid_input, not_found */
export async function listChips(
  deps: { db: Pick<Db, 'read' | 'slow'> },
  question: ChipListQuestion,
): Promise<ChipPage> {
  const { db } = deps
  const { teamId, state, limit, after: cursor = '0:' } = question
  const [, at = '0', key = ''] = cursorPattern.exec(cursor) ?? []
  if (!cursorPattern.test(cursor)) throw invalid('after', 'must be the next of an earlier answer')
  const sources = await sourcesOf(db, question)
  const chips: FoundChip[] = []
  let [source, after] = [Number(at), key]
  for (let queries = 0; queries < maxQueries && chips.length < limit; ) {
    const by = sources[source]
    if (by === undefined) break
    const page = await searchChips(db.slow, by, { state, after, limit: limit - chips.length })
    chips.push(...page.rows)
    queries += page.isWhole ? 1 : walkCost
    after = page.next ?? ''
    if (page.next === undefined) source += 1
  }
  const groups = new Map((await groupsOf(db, teamId)).map(({ id, name }) => [id, name]))
  return {
    chips: chips.map((chip) => ({ ...chip, chipGroup: groups.get(chip.chipGroupId) ?? '' })),
    next: source < sources.length ? `${source}:${after}` : null,
  }
}

const groupsOf = (db: Pick<Db, 'read'>, teamId: number | undefined) =>
  teamId === undefined ? allChipGroups(db.read) : chipGroupsOfTeam(db.read, teamId)

/** Read one after the other. */
async function sourcesOf(db: Pick<Db, 'read'>, question: ChipListQuestion): Promise<ChipsBy[]> {
  const { teamId, uids, label, item, token, chipGroup } = question
  if ([uids, label, item, token, chipGroup].filter((one) => one !== undefined).length > 1)
    throw invalid('chipGroup', 'cannot be combined: search by UID, label, item, token, or group')
  if (uids) return [{ uids, teamId }]
  if (token) {
    const contractAddress = getAddress(token.contractAddress.toLowerCase())
    const row = await findTokenAt(db.read, { ...token, contractAddress })
    return row ? [{ tokenRow: row.id, teamId }] : []
  }
  if (teamId !== undefined && label !== undefined) return [{ teamId, label }]
  if (teamId !== undefined && item !== undefined) return [{ teamId, item }]
  if (teamId !== undefined && chipGroup !== undefined)
    return [{ chipGroupId: (await getGroup(db.read, teamId, chipGroup)).id }]
  return (await groupsOf(db, teamId)).map(({ id }) => ({ chipGroupId: id }))
}
