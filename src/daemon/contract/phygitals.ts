import * as z from 'zod'
import { endpoint, keyEndpoint } from './endpoint.ts'
import { address, integer, success, text, timestamp, tokenId, tokenRef, uid } from './fields.ts'
import { phygitalMetadata } from './metadata.ts'

const token = { contractAddress: address, chainId: integer(1), tokenId }
/** An address, or an ENS name. */
export const recipient = text(255).refine((value) => value.trim() !== '', 'must not be empty')

const transferred = () => z.object({ success: z.literal(true), initialTxHash: z.string() })
// Two endpoints send the chain ID as text.
const tokenRefText = z.object({ contractAddress: z.string(), tokenId: z.string(), chainId: z.string() })
const signed = () => z.object({ signature: z.string(), blockExpiry: z.string(), tokenRef: tokenRefText })
const registered = z.object({
  recipient: z.string(),
  linkedToken: tokenRefText,
  allowedAt: timestamp,
  expiresAt: timestamp,
  createdAt: timestamp,
})

export const phygitals = {
  'POST /phygitals/transfer': keyEndpoint({
    id: 'transferToken',
    summary: "Transfer one of the team's tokens",
    description: 'Answers once a node has the transaction.',
    scope: 'transfer',
    isRepeatable: true,
    body: () => z.object({ ...token, recipient }),
    response: transferred,
  }),
  'POST /phygitals/transfer/pullable': endpoint({
    id: 'transferTokenWithCode',
    part: 'interface',
    summary: 'Transfer, or mint, the token that a code is for; the code is used up',
    auth: 'code',
    description:
      'If the token needs two taps, its recipient must be registered with the code of an earlier tap. If the request is refused, the code stays valid.',
    scope: 'transfer',
    isRepeatable: true,
    body: () => z.object({ recipient }),
    response: transferred,
  }),
  'POST /phygitals/transfer/self-service': keyEndpoint({
    id: 'transferTokenOfChip',
    summary: 'Transfer, or mint, the token of a chip',
    scope: 'transfer',
    isRepeatable: true,
    body: () => z.object({ tagUID: uid, recipient }),
    response: () => z.object({ initialTxHash: z.string(), tokenRef: tokenRef() }),
  }),
  'GET /phygitals/transfer-signature': keyEndpoint({
    id: 'signTransfer',
    summary: 'Sign a transfer for the client to submit',
    scope: 'transfer',
    noStore: true,
    query: () => z.object({ ...token, recipient }),
    response: signed,
  }),
  'GET /phygitals/transfer-signature/pullable': endpoint({
    id: 'signTransferWithCode',
    part: 'interface',
    summary: 'Sign the transfer that a code is for; the code is used up',
    auth: 'code',
    description:
      'The same code and recipient get the same signature again until it expires, if the answer was lost.',
    scope: 'transfer',
    noStore: true,
    query: () => z.object({ recipient }),
    response: signed,
  }),
  'GET /phygitals/chip': endpoint({
    id: 'getChipOfToken',
    part: 'interface',
    summary: 'Find the chip that is linked to a token',
    auth: 'none',
    scope: 'read',
    query: () => z.object(token),
    response: () => z.object({ uid: z.string() }),
  }),
  'GET /phygitals/claim-registration': endpoint({
    id: 'getClaimRegistration',
    part: 'interface',
    summary: 'Ask whether a recipient is registered for a token',
    auth: 'none',
    keyIsOptional: true,
    scope: 'read',
    query: () => z.object({ ...token, recipient }),
    response: () =>
      z.object({
        recipient: z.string(),
        linkedToken: tokenRefText,
        isRequired: z.boolean(),
        isValid: z.boolean(),
        allowedAt: timestamp.nullable(),
        expiresAt: timestamp.nullable(),
        createdAt: timestamp.nullable(),
      }),
  }),
  'POST /phygitals/claim-registration': keyEndpoint({
    id: 'createClaimRegistration',
    summary: "Register a recipient for one of the team's tokens",
    scope: 'transfer',
    body: () => z.object({ ...token, recipient }),
    response: () => registered,
  }),
  'POST /phygitals/claim-registration/pullable': endpoint({
    id: 'createClaimRegistrationWithCode',
    part: 'interface',
    summary: 'Register a recipient for the token that a code is for; the code is used up',
    auth: 'code',
    description: 'The first of two taps. The transfer needs the code of a later one.',
    scope: 'transfer',
    isRepeatable: true,
    body: () => z.object({ recipient }),
    response: () => registered,
  }),
  'DELETE /phygitals/claim-registration': keyEndpoint({
    id: 'deleteClaimRegistration',
    summary: 'Delete a registration',
    scope: 'transfer',
    body: () => z.object({ ...token, recipient }),
    response: success,
  }),
  'PATCH /phygitals/metadata': keyEndpoint({
    id: 'updateTokenMetadata',
    summary: "Replace a token's metadata and refresh it at marketplaces",
    description: "`metadata` replaces all of the token's metadata. Further fields are kept.",
    scope: 'edit',
    namesFields: true,
    body: () => z.object({ ...token, metadata: phygitalMetadata }),
    response: success,
  }),
} as const
