import type { FastifyInstance } from 'fastify'
import {
  contractDeployedBy,
  deployGuestbook,
  listGuestbooks,
} from '../domain/deployments/guestbook-contracts.ts'
import { assignEvent } from '../domain/guestbook/assign.ts'
import { createEvent, eventCreatedBy, listEvents } from '../domain/guestbook/events.ts'
import type { ContractRef, EventRef } from '../domain/guestbook/find.ts'
import { replaceEventMetadata } from '../domain/guestbook/metadata.ts'
import { mintByCode, mintEvent } from '../domain/guestbook/mint.ts'
import { setPauseState } from '../domain/guestbook/pause.ts'
import { broadcastHash } from '../domain/phygitals/transfer.ts'
import { bindAll } from '../http/bind.ts'
import { mapped, sendJsonArray } from '../http/streams.ts'
import type { Context } from '../process/context.ts'
import { pick, shownAddress } from './wire-shapes.ts'

export function eventRoutes(app: FastifyInstance, ctx: Context): void {
  const mintAnswer = async (transactionId: number | null) => ({
    success: true as const,
    txnHash: await broadcastHash(ctx.chains, transactionId),
  })
  bindAll(app, ctx, {
    'POST /events/contracts': ({ body, teamId, actor, once }) =>
      once({
        scope: { teamId },
        record: (idempotency) => deployGuestbook(ctx, { teamId, actor, idempotency }, body),
        answer: async (id) => ({ success: true, contractId: await contractDeployedBy(ctx, id) }),
      }),
    'GET /events/contracts': async ({ teamId }) =>
      (await listGuestbooks(ctx, teamId)).map((contract) => ({
        ...pick(contract, 'id', 'name', 'symbol', 'chainId', 'createdAt', 'status'),
        address: shownAddress({ address: contract.address, contractStatus: contract.status }),
      })),
    'POST /events': ({ body, teamId, actor, once }) =>
      once({
        scope: { teamId },
        record: (idempotency) => createEvent(ctx, { teamId, actor, idempotency }, body),
        answer: async (id) => ({ success: true, id: await eventCreatedBy(ctx, id) }),
      }),
    'GET /events': async ({ query, teamId, reply }) =>
      sendJsonArray(
        reply,
        mapped(listEvents(ctx, teamId, query.contractId), (event) => ({
          ...pick(event, 'id', 'name', 'createdAt'),
          contract: {
            id: event.contractId,
            address: shownAddress(event),
            contractAddress: shownAddress(event),
            chainId: event.chainId,
            tokenId: event.tokenId,
          },
        })),
      ),
    'PATCH /events/metadata': async ({ body, teamId, actor }) => {
      const { metadata, name } = body
      await replaceEventMetadata(ctx, { teamId, actor }, eventRef(body), { metadata, name })
      return { success: true as const }
    },
    'POST /events/mint': ({ body, teamId, actor, once }) =>
      once({
        scope: { teamId },
        record: (idempotency) =>
          mintEvent(
            ctx,
            { teamId, actor, idempotency },
            { event: eventRef(body), recipient: body.recipient },
          ),
        answer: mintAnswer,
      }),
    'POST /events/mint/self': ({ body, code, actor, once }) =>
      once({
        scope: { code },
        record: (idempotency) => mintByCode(ctx, { code, actor, idempotency }, body.recipient),
        answer: mintAnswer,
      }),
    'POST /events/assign/legacy': async ({ body, query, teamId, actor }) => {
      const { guestbookEventId: eventId, tagUIDs: uids } = body
      const assigned = await assignEvent(ctx, { teamId, actor }, { eventId, uids })
      return { success: true as const, ...(query.report ? { assigned } : {}) }
    },
    'POST /events/toggle-pause-state': ({ body, teamId, actor, once }) =>
      once({
        scope: { teamId },
        record: (idempotency) =>
          setPauseState(ctx, { teamId, actor, idempotency }, contractRef(body), body.pauseState),
        answer: mintAnswer,
      }),
  })
}

interface ContractFields {
  contractId?: number | undefined
  contractAddress?: string | undefined
  chainId?: number | undefined
}

/** A complete address takes precedence over a contract ID. */
function contractRef({ contractId, contractAddress, chainId }: ContractFields): ContractRef {
  if (contractAddress !== undefined && chainId !== undefined) return { contractAddress, chainId }
  if (contractId !== undefined) return { contractId }
  throw new Error('the contract lets no such body through')
}

function eventRef({
  eventId,
  tokenId,
  ...contract
}: ContractFields & { eventId?: number | undefined; tokenId?: string | undefined }): EventRef {
  if (eventId !== undefined) return { eventId }
  if (tokenId !== undefined) return { tokenId, ...contractRef(contract) }
  throw new Error('the contract lets no such body through')
}
