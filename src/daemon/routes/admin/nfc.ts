import type { FastifyInstance } from 'fastify'
import { permits } from '../../../values/scopes.ts'
import { credentialId } from '../../domain/access/credentials.ts'
import { namedTeam, resolveTeam, teamNames } from '../../domain/access/teams.ts'
import { invalid } from '../../domain/errors/errors.ts'
import { giveUpChip, listJournal } from '../../domain/nfc/left-plans.ts'
import { BaseUrlCheck, openSession } from '../../domain/nfc/open-session.ts'
import type { Reply } from '../../domain/nfc/session.ts'
import { NfcSessions, type SessionStep } from '../../domain/nfc/sessions.ts'
import { joinSheet, showSheet } from '../../domain/nfc/sheet-runs.ts'
import type { StationBoard } from '../../domain/nfc/station-board.ts'
import { bindAll } from '../../http/bind.ts'
import type { Context } from '../../process/context.ts'

const defaultLimit = 100

export function nfcRoutes(app: FastifyInstance, ctx: Context, board: StationBoard): void {
  const sessions = new NfcSessions()
  const urlCheck = new BaseUrlCheck()
  bindAll(app, ctx, {
    'POST /admin/nfc/sessions': async ({ body, actor, holder, teamId, keyTeam }) => {
      const { purpose, keySet, chipGroup, label, item, variant, redirectUrl } = body
      const mayVouch = permits(holder.scopes, 'keys')
      const request = {
        purpose,
        atr: body.atr === undefined ? undefined : Buffer.from(body.atr, 'hex'),
        maxLc: body.maxLc,
        originality: body.originality ?? ('genuine' as const),
        keySet,
        chipGroup,
        rekey: body.rekey ?? false,
        acceptUrl: body.acceptUrl ?? false,
        waitForDetails: body.waitForDetails ?? false,
        details: { label, item, variant, redirectUrl },
        content: { fileData: body.fileData, aar: body.aar, text: body.text },
        mayVouch,
        mayBind: permits(holder.scopes, 'transfer'),
        sheetRun: body.sheet?.run,
        uid: body.uid,
        keys: body.keys?.map((key) => Buffer.from(key, 'hex')),
        tryFactoryKeys: body.tryFactoryKeys ?? false,
      }
      const owner = { token: credentialId(holder), actor, station: body.station }
      const ofTeam = () => teamFor(ctx, { name: body.team, teamId, keyTeam, mayVouch })
      const step = await openSession(ctx, { sessions, urlCheck }, owner, request, ofTeam)
      const team = purpose === 'provision' ? (await ofTeam()).id : keyTeam()
      board.opened(
        owner,
        { reader: body.reader ?? null, teamId: team, chipGroup: chipGroup ?? null, purpose },
        step,
      )
      return toWire(step)
    },
    'POST /admin/nfc/sessions/:id/answers': async ({ params, body, holder }) => {
      const reply = replyOf(body)
      const of = { token: credentialId(holder), id: params.id, step: body.step, reply }
      const step = await sessions.reply(ctx, of)
      board.advanced(step)
      return toWire(step)
    },
    'DELETE /admin/nfc/sessions/:id': async ({ params, holder }) => {
      await sessions.close(ctx, { token: credentialId(holder), id: params.id })
      board.closed(params.id)
      return { success: true as const }
    },
    'GET /admin/nfc/stations': async ({ query, teamId, keyTeam }) => {
      const team = await namedTeam(ctx, { name: query.team, teamId, keyTeam })
      const teams = await teamNames(ctx)
      return board.list(team?.id).map(({ teamId: of, ...reader }) => ({
        ...reader,
        team: of === undefined ? null : (teams.get(of) ?? null),
      }))
    },
    'POST /admin/nfc/sheets': async ({ body, actor, holder, teamId, keyTeam }) => {
      const { team, startOver = false, items = [], ...about } = body
      const mayVouch = permits(holder.scopes, 'keys')
      const found = await teamFor(ctx, { name: team, teamId, keyTeam, mayVouch })
      const mayBind = permits(holder.scopes, 'transfer')
      return { ...(await joinSheet(ctx, actor, { ...about, teamId: found.id, startOver, items, mayBind })) }
    },
    'GET /admin/nfc/sheets/:run': async ({ params: { run }, actor }) => ({
      ...(await showSheet(ctx, run, actor.ofTeam)),
      held: await sessions.heldRows(ctx, run),
    }),
    'GET /admin/nfc/journal': async ({ query, actor }) => {
      const { uid, before, limit = defaultLimit } = query
      const entries = await listJournal(ctx, actor, { open: !query.all, uid, before, limit })
      return entries.map((entry) => ({
        ...entry,
        from: entry.from.map((source) =>
          source !== 'factory' && 'supplied' in source ? { supplied: [...source.supplied] } : source,
        ),
      }))
    },
    'DELETE /admin/nfc/journal/:uid': async ({ params, actor }) => {
      await giveUpChip(ctx, actor, params.uid, () => sessions.assertFree(ctx, params.uid))
      return { success: true as const }
    },
  })
}

async function teamFor(
  ctx: Context,
  { mayVouch, ...question }: Parameters<typeof resolveTeam>[1] & { mayVouch: boolean },
) {
  const found = await resolveTeam(ctx, question)
  const ofKey = mayVouch ? undefined : question.keyTeam()
  // A packing table's API key determines its chips' team.
  if (ofKey !== undefined && ofKey !== found.id)
    throw invalid('team', 'is not the team of the API key that was sent: leave one of them out')
  return found
}

type DetailsBody = Extract<Reply, { type: 'details' }>['details'] & {
  rekey?: boolean | undefined
  row?: number | undefined
}

interface ReplyBody {
  answers?: string[] | undefined
  details?: DetailsBody | undefined
}

function replyOf({ answers, details }: ReplyBody): Reply {
  if (details) {
    const { rekey, row, ...rest } = details
    return { type: 'details', details: rest, rekey, row }
  }
  if (answers === undefined) throw invalid('answers', 'are required, or details')
  return { type: 'answers', answers: answers.map((answer) => Buffer.from(answer, 'hex')) }
}

function toWire({ id, step, next }: SessionStep) {
  switch (next.type) {
    case 'apdus': {
      const apdus = next.apdus.map((apdu) => Buffer.from(apdu).toString('hex').toUpperCase())
      return { id, step, next: { type: next.type, apdus, phase: next.phase } }
    }
    case 'inspected': {
      const { registered, row = null, sheet = null, passed, ...chip } = next.chip
      const shown = {
        ...chip,
        row,
        sheet: sheet && { ...sheet },
        registered: registered && { ...registered },
      }
      return { id, step, next: { type: next.type, ...shown, ...(passed ? { passed: { ...passed } } : {}) } }
    }
    case 'ended':
      return { id, step, next: { type: next.type, outcome: { keySet: null, url: null, ...next.outcome } } }
  }
}
