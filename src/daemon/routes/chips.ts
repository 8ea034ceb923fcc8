import type { FastifyInstance } from 'fastify'
import { KeyedMutex } from '../../values/semaphore.ts'
import { endpoints } from '../contract/index.ts'
import { editChips, listGroup } from '../domain/chips/chips.ts'
import { type Edit, editRows, readEdit } from '../domain/chips/edit-batch.ts'
import { editByOwner } from '../domain/phygitals/self-service.ts'
import { findChipByTap } from '../domain/taps/find-chip.ts'
import { tapState } from '../domain/taps/verify-tap.ts'
import { bindAll } from '../http/bind.ts'
import { CheckedLines, type CheckLine } from '../http/checked-lines.ts'
import { isPrefetch, refusePrefetch } from '../http/prefetch.ts'
import { sendJsonText, sendLines } from '../http/streams.ts'
import type { Context } from '../process/context.ts'
import { foundChipOnWire } from './wire-shapes.ts'

export function chipRoutes(app: FastifyInstance, ctx: Context): void {
  const edits = new KeyedMutex()
  bindAll(app, ctx, {
    'GET /chips/find': async ({ query, request, reply }) => {
      if (isPrefetch(request)) return refusePrefetch(reply)
      if (request.method === 'HEAD') {
        const state = await tapState(ctx, query)
        return reply.code(state === 'malformed' ? 400 : state === 'unknown' ? 404 : 200).send()
      }
      const found = await findChipByTap(ctx, query)
      request.isProven = found.isValidTap
      return foundChipOnWire(found)
    },
    'GET /chips': async ({ query, teamId, reply }) =>
      sendJsonText(reply, await listGroup(ctx, teamId, query)),
    'PATCH /chips': async ({ body, teamId, actor }) => {
      const { tagUIDs: uids, updates } = body
      await editChips({ ...ctx, edits }, { teamId, actor }, { uids, redirectUrl: updates.redirectUrl })
      return { success: true as const }
    },
    'PATCH /chips/self-service': async ({ body, request }) => {
      const { updates, ownerSignature, ...token } = body
      const signature = ownerSignature as `0x${string}`
      const edit = { ...token, redirectUrl: updates.redirectUrl, ownerSignature: signature }
      return { success: true as const, updatedTags: [...(await editByOwner(ctx, edit, request.id))] }
    },
  })
}

export function batchRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'POST /chips/batch': async ({ query, request, reply, teamId, actor }) => {
      const { bodyLimit } = endpoints['POST /chips/batch']
      const lines = await CheckedLines.read(request, bodyLimit, editLine)
      await lines.refuseBad()
      return sendLines(reply, editRows(ctx, { teamId, actor }, lines.goodLines(), query.dryRun === 'true'))
    },
  })
}

const editLine: CheckLine<Edit> = async (value) => readEdit(value)
