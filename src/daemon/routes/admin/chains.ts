import type { FastifyInstance } from 'fastify'
import { chainStates } from '../../domain/chain/chains.ts'
import { bindAll } from '../../http/bind.ts'
import type { Context } from '../../process/context.ts'

export function chainRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /admin/chains': async ({ actor, query }) => [
      ...(await chainStates(ctx, actor, query.check === true)).map(({ chain, head, ...state }) => ({
        chainId: chain.id,
        isEmbedded: chain.isEmbedded,
        rpcUrl: state.rpcUrl ?? null,
        isReachable: head !== undefined,
        latestBlock: head?.block ?? null,
        baseFee: head?.baseFee.toString() ?? null,
        maxFeePerGas: state.maxFeePerGas?.toString() ?? null,
        relayer: chain.relayer,
        balance: head?.balance.toString() ?? null,
        relayers: state.relayers.map(({ balance, ...relayer }) => ({
          ...relayer,
          balance: balance?.toString() ?? null,
        })),
        missing: state.missing,
        signVerifier: chain.signVerifier.address,
        unsettled: state.unsettled,
        inFlight: state.inFlight,
        waiting: { ...state.waiting },
        trouble: state.trouble ?? null,
        endpoints: state.endpoints.map(({ head, limitedUntil, ...endpoint }) => ({
          url: endpoint.url,
          isWell: endpoint.isWell,
          latestBlock: head ?? null,
          behind: endpoint.behind ?? null,
          batch: endpoint.batch ?? null,
          limitedUntil: limitedUntil === undefined ? null : new Date(limitedUntil).toISOString(),
          lastError: endpoint.lastError ?? null,
          checks: endpoint.checks ?? null,
        })),
        signer: onWire(state.signer),
        contracts: state.contracts,
      })),
      ...ctx.chains.late().map(({ chainId, host, problem }) => ({
        ...unserved,
        chainId,
        isEmbedded: ctx.chains.embedded?.chainId === chainId,
        trouble: { code: 'signer' as const, message: problem, transactionId: null },
        signer: { url: host, problem, missingKeys: 0 },
      })),
    ],
  })
}

const unserved = {
  rpcUrl: null,
  isReachable: false,
  latestBlock: null,
  baseFee: null,
  maxFeePerGas: null,
  relayer: '',
  balance: null,
  signVerifier: '',
  unsettled: 0,
  inFlight: 0,
  relayers: [],
  missing: [],
  waiting: {},
  endpoints: [],
  contracts: [],
}

const onWire = (signer: { host: string; problem: string | undefined; missingKeys: number } | undefined) =>
  signer ? { url: signer.host, problem: signer.problem ?? null, missingKeys: signer.missingKeys } : null
