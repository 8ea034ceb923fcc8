import type { FastifyInstance } from 'fastify'
import type { Context } from '../../context.ts'
import { chainStates } from '../../domain/chain/chains.ts'
import { bindAll } from '../../http/bind.ts'

export function chainRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /admin/chains': async () =>
      (await chainStates(ctx)).map(({ chain, head, trouble, waiting, contracts, ...state }) => ({
        chainId: chain.id,
        isEmbedded: chain.isEmbedded,
        rpcUrl: state.rpcUrl ?? null,
        isReachable: head !== undefined,
        latestBlock: head?.block ?? null,
        baseFee: head?.baseFee.toString() ?? null,
        maxFeePerGas: state.maxFeePerGas?.toString() ?? null,
        relayer: chain.relayer,
        balance: head?.balance.toString() ?? null,
        signVerifier: chain.signVerifier.address,
        unsettled: state.unsettled,
        inFlight: state.inFlight,
        waiting: { ...waiting },
        trouble: trouble ?? null,
        contracts,
      })),
  })
}
