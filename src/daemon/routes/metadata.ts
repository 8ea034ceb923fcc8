import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { addressForm } from '../../values/token.ts'
import { contractMetadata, metadataAt } from '../domain/contracts/served-metadata.ts'
import { notFound } from '../domain/errors/errors.ts'
import { limited } from '../http/bind.ts'
import { openToPages } from '../http/cors.ts'
import type { Context } from '../process/context.ts'

const pathSchema = z.object({
  chainId: z
    .string()
    .regex(/^[1-9]\d{0,14}$/)
    .transform(Number),
  contract: z.string().regex(addressForm),
  tokenId: z.string().regex(/^(contract|\d{1,78})$/),
})

// Marketplaces ask often; changes appear within a minute.
const cached = 'public, max-age=60'

/** The targets of `tokenURI`, `uri`, and `contractURI`. */
export function metadataRoutes(app: FastifyInstance, ctx: Context): void {
  app.get(
    '/metadata/:chainId/:contract/:tokenId',
    { config: { ...limited, ...openToPages } },
    async (request, reply) => {
      const parsed = pathSchema.safeParse(request.params)
      if (!parsed.success) throw notFound('token')
      const { chainId, contract: contractAddress, tokenId } = parsed.data
      const text =
        tokenId === 'contract'
          ? JSON.stringify(await contractMetadata(ctx, { chainId, contractAddress }))
          : await metadataAt(ctx, { chainId, contractAddress, tokenId: String(BigInt(tokenId)) })
      return reply
        .header('cache-control', cached)
        .header('x-content-type-options', 'nosniff')
        .type('application/json; charset=utf-8')
        .send(text)
    },
  )
}
