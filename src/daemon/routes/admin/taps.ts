import type { FastifyInstance } from 'fastify'
import { namedTeam, resolveTeam } from '../../domain/access/teams.ts'
import { getGroup } from '../../domain/chips/chip-groups.ts'
import { notFound } from '../../domain/errors/errors.ts'
import type { StationBoard } from '../../domain/nfc/station-board.ts'
import { explainTap } from '../../domain/taps/explain-tap.ts'
import { findChipByTap } from '../../domain/taps/find-chip.ts'
import { type LiveChange, LiveChanges } from '../../domain/taps/live-changes.ts'
import { LiveTapFeed, type LiveTaps } from '../../domain/taps/live-taps.ts'
import { followTaps, listTapRecords, type TapRecord } from '../../domain/taps/tap-log.ts'
import { TapPulses } from '../../domain/taps/tap-pulse.ts'
import { countTaps } from '../../domain/taps/tap-stats.ts'
import { verifyTap } from '../../domain/taps/verify-tap.ts'
import { bindAll } from '../../http/bind.ts'
import { isStillAllowed, LiveLines } from '../../http/live-lines.ts'
import type { Context } from '../../process/context.ts'
import { foundChipOnWire, pick } from '../wire-shapes.ts'

const defaultLimit = 100

type LiveEvent = LiveTaps | { changed: LiveChange[] }

export function tapRoutes(app: FastifyInstance, ctx: Context, board: StationBoard): void {
  const streams = new LiveLines(app)
  const taps = new LiveTapFeed(ctx)
  const changes = new LiveChanges(ctx)
  const pulses = new TapPulses(ctx)
  board.onChange((teamId) => changes.tell('nfc', teamId))
  bindAll(app, ctx, {
    'GET /admin/taps': async ({ query, teamId, keyTeam }) => {
      const { team: name, limit = defaultLimit, ...filter } = query
      const team = await namedTeam(ctx, { name, teamId, keyTeam })
      return (await listTapRecords(ctx, { ...filter, limit, teamId: team?.id })).map(toWire)
    },
    'GET /admin/taps/stats': async ({ query, teamId, keyTeam }) => {
      const { team: name, chipGroup, timeZone = 'UTC', limit = defaultLimit, ...question } = query
      // A group's name is unique in its team only.
      const team = await (chipGroup === undefined ? namedTeam : resolveTeam)(ctx, { name, teamId, keyTeam })
      const group =
        team && chipGroup !== undefined ? await getGroup(ctx.db.read, team.id, chipGroup) : undefined
      return countTaps(ctx, { ...question, timeZone, limit, teamId: team?.id, chipGroupId: group?.id })
    },
    'GET /admin/taps/pulse': async ({ query, teamId, keyTeam }) =>
      pulses.of((await namedTeam(ctx, { name: query.team, teamId, keyTeam }))?.id),
    'POST /admin/taps/verify': async ({ body: { parameters }, keyTeam }) => {
      const team = keyTeam()
      // Taps of set-up are told to nobody, so a table uses up those of its own team alone.
      const tap = team === undefined ? undefined : await verifyTap(ctx, parameters)
      if (tap && 'chip' in tap && tap.chip.teamId !== team) throw notFound('chip')
      return foundChipOnWire(await findChipByTap(ctx, parameters, 'setup'))
    },
    'GET /admin/taps/explain': async ({ query, keyTeam }) => ({
      reason: await explainTap(ctx, query, keyTeam()),
    }),
    'GET /admin/taps/follow': async ({ query, teamId, keyTeam, request, reply }) => {
      const team = await namedTeam(ctx, { name: query.team, teamId, keyTeam })
      const filter = { teamId: team?.id, uid: query.uid }
      return streams.send<TapRecord>(reply, {
        follow: (onEvent) => followTaps(ctx, filter, onEvent),
        toLine: toWire,
        mayGoOn: () => isStillAllowed(request),
      })
    },
    'GET /admin/events/follow': async ({ query, teamId, keyTeam, request, reply }) => {
      const team = await namedTeam(ctx, { name: query.team, teamId, keyTeam })
      return streams.send<LiveEvent>(reply, {
        follow: (onEvent) => {
          const ends = [
            changes.follow({ teamId: team?.id }, (changed) => onEvent({ changed })),
            taps.follow({ teamId: team?.id, after: query.after }, onEvent),
          ]
          return () => ends.map((end) => end())
        },
        toLine: (event) => ('taps' in event ? liveOnWire(event) : event),
        mayGoOn: () => isStillAllowed(request),
      })
    },
  })
}

const toWire = (tap: TapRecord) => ({
  ...pick(tap, 'id', 'at', 'team', 'counter', 'outcome', 'via'),
  uid: tap.chipUid,
  keySet: tap.keySetId,
  tamper: tap.tamper,
  fileData: tap.fileData,
})

const onWire = new WeakMap<LiveTaps, object>()

/** The same for all that are told the same. */
function liveOnWire(live: LiveTaps): object {
  const known = onWire.get(live)
  if (known) return known
  const line = { ...live, taps: live.taps.map(({ chip, ...tap }) => ({ ...toWire(tap), chip })) }
  onWire.set(live, line)
  return line
}
