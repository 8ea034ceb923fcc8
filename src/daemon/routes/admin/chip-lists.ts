import type { FastifyInstance } from 'fastify'
import { uidToHex } from '../../../nfc/uid.ts'
import { chipStates } from '../../../values/chip-states.ts'
import { namedTeam, resolveTeam, teamNames } from '../../domain/access/teams.ts'
import { type ChipPage, listChips } from '../../domain/chips/chip-list.ts'
import { linkedToken } from '../../domain/chips/chip-record.ts'
import { addCounts, ChipStatistics, type ChipStats, noChips } from '../../domain/chips/chip-stats.ts'
import { invalid } from '../../domain/errors/errors.ts'
import { bindAll } from '../../http/bind.ts'
import type { Context } from '../../process/context.ts'
import { pick, tokenOnWire } from '../wire-shapes.ts'

export function chipListRoutes(app: FastifyInstance, ctx: Context): void {
  const statistics = new ChipStatistics(ctx)
  bindAll(app, ctx, {
    'GET /admin/chips': async ({ query, teamId, keyTeam }) => {
      const { team: name, contractAddress, chainId, tokenId, limit = defaultLimit, uid, ...filter } = query
      const uids = typeof uid === 'string' ? [uid] : uid
      const { label, item, chipGroup } = filter
      // Labels, items, and groups are unique in their team only.
      const isOfTeam = [label, item, chipGroup].some((one) => one !== undefined)
      const team = await (isOfTeam ? resolveTeam : namedTeam)(ctx, { name, teamId, keyTeam })
      const location = [contractAddress, chainId, tokenId]
      if (location.some((one) => one !== undefined) && location.includes(undefined))
        throw invalid('tokenId', 'needs contractAddress and chainId, and they need it')
      const token =
        contractAddress !== undefined && chainId !== undefined && tokenId !== undefined
          ? { contractAddress, chainId, tokenId }
          : undefined
      const { chips, next } = await listChips(ctx, { ...filter, uids, token, limit, teamId: team?.id })
      const teams = await teamNames(ctx)
      return { chips: chips.map((chip) => chipOnWire(chip, teams)), next }
    },
    'GET /admin/chips/stats': async ({ query, teamId, keyTeam }) => {
      const { team: name, chipGroup, wait = false, limit = defaultGroups, ...filter } = query
      // A group's name is unique in its team only.
      const team = await (chipGroup === undefined ? namedTeam : resolveTeam)(ctx, { name, teamId, keyTeam })
      const of = { teamId: team?.id, chipGroup }
      const isRecent = !wait && Object.values(filter).every((value) => value === undefined)
      const stats = await (isRecent ? statistics.recent(of) : statistics.exact(of, filter))
      return statsOnWire(stats, await teamNames(ctx), limit)
    },
  })
}

const defaultLimit = 50
const defaultGroups = 100

function chipOnWire(chip: ChipPage['chips'][number], teams: Map<number | null, string>) {
  const token = linkedToken(chip)
  return {
    ...pick(chip, 'uid', 'chipGroup', 'family', 'label', 'redirectUrl', 'lastTapAt', 'openedAt'),
    ...pick(chip, 'disabledAt', 'disabledReason', 'createdAt'),
    uidHex: uidToHex(chip.uid),
    team: teams.get(chip.teamId) ?? '',
    keySet: chip.keySetId,
    item: chip.itemId,
    variant: chip.variantId,
    linkedToken: token ? tokenOnWire(token) : null,
    isSimulated: chip.simulated === 1,
  }
}

function statsOnWire(
  { groups, countedAt, isCounting }: ChipStats,
  teams: Map<number | null, string>,
  limit: number,
) {
  const counted = groups.map(({ counts }) => counts ?? noChips).reduce(addCounts, noChips)
  const rows = groups.map(({ group: { id, name, teamId, chips }, counts }) => ({
    ...{ id, chipGroup: name, team: teams.get(teamId) ?? '', chips: counts?.registered ?? chips },
    states: counts ?? null,
  }))
  const chips = rows.reduce((sum, row) => sum + row.chips, 0)
  return {
    chips,
    states: chipStates.map((state) => ({ state, chips: counted[state] })),
    groups: rows.sort((a, b) => b.chips - a.chips || a.id - b.id).slice(0, limit),
    ...{ more: Math.max(0, rows.length - limit), countedAt, isCounting },
  }
}
