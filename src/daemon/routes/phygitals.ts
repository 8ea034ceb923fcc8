import type { FastifyInstance } from 'fastify'
import { presentCode } from '../domain/codes/otps.ts'
import { replaceMetadata } from '../domain/phygitals/metadata.ts'
import {
  type ClaimRegistration,
  claimRegistration,
  registerClaim,
  registerClaimByCode,
  removeClaimRegistration,
} from '../domain/phygitals/registrations.ts'
import { chipOfToken, type TokenLocation, tokenOfTeam } from '../domain/phygitals/target.ts'
import {
  transferByCode,
  transferred,
  transferToken,
  transferTokenOfChip,
} from '../domain/phygitals/transfer.ts'
import {
  signTransfer,
  signTransferByCode,
  type TransferSignature,
} from '../domain/phygitals/transfer-signature.ts'
import { askerOf } from '../http/auth.ts'
import { bindAll } from '../http/bind.ts'
import type { Context } from '../process/context.ts'
import { tokenOnWire } from './wire-shapes.ts'

export function phygitalRoutes(app: FastifyInstance, ctx: Context): void {
  const transferAnswer = async (transactionId: number | null) => {
    const { hash } = await transferred(ctx, transactionId)
    return { success: true as const, initialTxHash: hash }
  }
  bindAll(app, ctx, {
    'POST /phygitals/transfer': ({ body, teamId, actor, once }) =>
      once({
        scope: { teamId },
        record: (idempotency) => transferToken(ctx, { teamId, actor, idempotency }, body),
        answer: transferAnswer,
      }),
    'POST /phygitals/transfer/pullable': ({ body, code, actor, once }) =>
      once({
        scope: { code },
        record: (idempotency) => transferByCode(ctx, { code, actor, idempotency }, body.recipient),
        answer: transferAnswer,
      }),
    'POST /phygitals/transfer/self-service': ({ body, teamId, actor, once }) =>
      once({
        scope: { teamId },
        record: (idempotency) =>
          transferTokenOfChip(ctx, { teamId, actor, idempotency }, { uid: body.tagUID, ...body }),
        answer: async (transactionId) => {
          const { hash, token } = await transferred(ctx, transactionId)
          return { initialTxHash: hash, tokenRef: tokenOnWire(token) }
        },
      }),
    'GET /phygitals/transfer-signature': async ({ query, teamId, actor, request, reply }) => {
      if (request.method === 'HEAD') {
        await tokenOfTeam(ctx, teamId, query)
        return reply.send()
      }
      return signatureOnWire(await signTransfer(ctx, { teamId, actor }, query))
    },
    'GET /phygitals/transfer-signature/pullable': async ({ query, code, actor, request, reply }) => {
      if (request.method === 'HEAD') {
        await presentCode(ctx, code, 'PHYGITAL_CLAIM')
        return reply.send()
      }
      return signatureOnWire(await signTransferByCode(ctx, { code, actor }, query.recipient))
    },
    'GET /phygitals/chip': async ({ query }) => ({ uid: await chipOfToken(ctx, query) }),
    'GET /phygitals/claim-registration': async ({ query, request }) => {
      const rateKey = askerOf(ctx, request)
      const { isRequired, isValid, ...registration } = await claimRegistration(ctx, rateKey, query)
      const { allowedAt, expiresAt, createdAt } = registration
      return { ...registrantOnWire(registration), isRequired, isValid, allowedAt, expiresAt, createdAt }
    },
    'POST /phygitals/claim-registration': async ({ body, teamId, actor }) =>
      registeredOnWire(await registerClaim(ctx, { teamId, actor }, body)),
    'POST /phygitals/claim-registration/pullable': ({ body, code, actor, once }) =>
      once({
        scope: { code },
        complete: (keep) =>
          registerClaimByCode(ctx, { code, actor }, body.recipient, (trx, registration) =>
            keep(trx, registeredOnWire(registration)),
          ),
      }),
    'DELETE /phygitals/claim-registration': async ({ body, teamId, actor }) => {
      await removeClaimRegistration(ctx, { teamId, actor }, body)
      return { success: true as const }
    },
    'PATCH /phygitals/metadata': async ({ body, teamId, actor }) => {
      const { metadata, ...token } = body
      await replaceMetadata(ctx, { teamId, actor }, token, metadata)
      return { success: true as const }
    },
  })
}

// Signatures and registrations send the chain ID as text.
const withChainAsText = ({ contractAddress, tokenId, chainId }: TokenLocation) => ({
  contractAddress,
  tokenId,
  chainId: String(chainId),
})

const signatureOnWire = ({ signature, blockExpiry, token }: TransferSignature) => ({
  signature,
  blockExpiry: String(blockExpiry),
  tokenRef: withChainAsText(token),
})

const registrantOnWire = ({ recipient, token }: Pick<ClaimRegistration, 'recipient' | 'token'>) => ({
  recipient,
  linkedToken: withChainAsText(token),
})

const registeredOnWire = ({ allowedAt, expiresAt, createdAt, ...of }: ClaimRegistration) => ({
  ...registrantOnWire(of),
  allowedAt,
  expiresAt,
  createdAt,
})
