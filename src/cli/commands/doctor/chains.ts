import type { ElementOf } from '../../client/types.ts'
import type { CliContext } from '../../context.ts'
import { counted } from '../../io/text.ts'
import { waitingReasons } from '../transactions/transaction.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

type Chain = ElementOf<'GET /admin/chains'>

/** Gas of a transfer, the usual transaction; see contracts/README.md. */
const typicalGas = 100_000n
/** With less than this, the relayer will need funds soon. */
const fewTransfers = 20n

/** Up to six decimals. */
const inUnits = (wei: bigint, decimals: number): string => {
  const micro = wei / 10n ** BigInt(decimals - 6)
  const fraction = String(micro % 1_000_000n)
    .padStart(6, '0')
    .replace(/0+$/, '')
  return `${micro / 1_000_000n}${fraction === '' ? '' : `.${fraction}`}`
}
const coins = (wei: string): string => `${inUnits(BigInt(wei), 18)} coins`
const gwei = (wei: string): string => `${inUnits(BigInt(wei), 9)} gwei`

type Relayer = Chain['relayers'][number]

/** An older daemon has one. */
const relayersOf = ({ relayers, relayer: address, balance, unsettled }: Partial<Chain>): readonly Relayer[] =>
  relayers ?? [
    {
      name: 'relayer',
      address: address ?? '',
      balance: balance ?? null,
      unsettled: unsettled ?? 0,
      jam: null,
    },
  ]

const describeRelayer = ({ name, address, balance }: Relayer): string =>
  `${name} ${address || 'not known yet'}${balance === null ? '' : ` with ${coins(balance)}`}`

export const describeChain = (chain: Chain): string =>
  [
    chain.isEmbedded ? 'embedded' : 'remote',
    chain.latestBlock === null ? 'does not answer' : `block ${chain.latestBlock}`,
    ...relayersOf(chain).map(describeRelayer),
    `${chain.unsettled} unsettled`,
    ...Object.entries(chain.waiting).map(([why, count]) => `${count} waiting for ${why}`),
    ...(chain.trouble === null ? [] : [chain.trouble.message]),
    ...(chain.contracts.length === 0
      ? []
      : [`something is wrong with ${counted(chain.contracts.length, 'contract')}`]),
  ].join(', ')

export const checkChains = async (ctx: CliContext): Promise<Finding[]> => {
  const chains = await ctx.call('GET /admin/chains', { query: { check: true } })
  if (chains.length > 0)
    return chains.flatMap((chain) => [
      check(chain),
      ...relayersOf(chain)
        .slice(1)
        .map((relayer) => checkRelayer(chain, relayer)),
      ...checkMissing(chain),
      ...checkUrls(chain),
      ...checkSigner(chain),
      ...chain.contracts.map(checkContract),
    ])
  return [
    warn(
      'chains',
      'none: no token can be transferred',
      'set TAPCHIP_RPC_<chain id>; to try things out on one machine: TAPCHIP_DEV_CHAIN=on',
    ),
  ]
}

/** An older daemon does not say. */
const checkUrls = ({ chainId, endpoints = [] }: Partial<Chain>): Finding[] =>
  endpoints.map(({ url, behind, isWell, lastError, checks }) => {
    const lag =
      isWell || lastError !== null || !behind
        ? []
        : [
            {
              status: 'warn' as const,
              detail: `it is ${counted(behind, 'block')} behind the others`,
              fix: `remove it from TAPCHIP_RPC_${chainId} if that lasts`,
            },
          ]
    const all = [...(checks ?? []), ...lag]
    const worst = (['fail', 'warn'] as const).find((one) => all.some(({ status }) => status === one)) ?? 'ok'
    const reported = all.filter(({ status }) => status === worst)
    const detail = reported.map((one) => one.detail).join(worst === 'ok' ? ', ' : '; ')
    const fixes = new Set(reported.flatMap(({ fix }) => fix ?? []))
    return { check: `chain ${chainId} at ${url}`, status: worst, detail, fix: [...fixes].join('; ') || null }
  })

/** An older daemon has none. */
const checkSigner = ({
  chainId,
  signer,
}: Partial<Pick<Chain, 'signer'>> & Pick<Chain, 'chainId'>): Finding[] => {
  if (!signer) return []
  const name = `signer of chain ${chainId} at ${signer.url}`
  if (signer.problem !== null) return [fail(name, signer.problem, signerFix(chainId))]
  return signer.missingKeys === 0
    ? [ok(name, "it has the relayers' keys")]
    : [
        warn(
          name,
          `it had too few keys: ${signer.missingKeys} fewer than TAPCHIP_RELAYERS_${chainId}`,
          'give it more keys, and start the daemon again',
        ),
      ]
}

const signerFix = (chainId: number): string =>
  `check TAPCHIP_SIGNER_${chainId} and the signer behind it; nothing is lost meanwhile, and it goes on by itself`

/** A contract that is not deployed yet has no tokens at risk. */
const checkContract = ({ symbol, team, status, problem }: Chain['contracts'][number]): Finding =>
  (status === 'pending' ? warn : fail)(
    `contract ${symbol}`,
    problem.replace(/\.$/, ''),
    `check it: tapchip contracts show ${symbol} --team ${JSON.stringify(team)}`,
  )

const check = (chain: Chain): Finding => {
  const name = `chain ${chain.chainId}`
  const { trouble: problem, balance, baseFee, maxFeePerGas } = chain
  if (problem !== null) return fail(name, problem.message.replace(/\.$/, ''), fixOf(problem, chain))
  if (balance === null) return fail(name, 'it does not answer', fixOf({ code: 'node' }, chain))
  const pay = payTo(chain.relayer)
  const [first] = relayersOf(chain)
  const others = relayersOf(chain).slice(1)
  // Another relayer's finding says so.
  if (
    chain.waiting.funds !== undefined &&
    (first?.jam === 'funds' || others.every(({ jam }) => jam !== 'funds'))
  )
    return fail(
      name,
      `the relayer has ${coins(balance)}, and ${counted(chain.waiting.funds, 'transaction')} cannot be paid`,
      pay,
    )
  // A chain that is only used to resolve names needs no funds.
  if (BigInt(balance) === 0n)
    return ((first?.unsettled ?? 0) > 0 ? fail : warn)(name, 'the relayer has no funds', pay)
  if (maxFeePerGas !== null && baseFee !== null && BigInt(baseFee) > BigInt(maxFeePerGas))
    return fail(
      name,
      `the base fee is ${gwei(baseFee)}, above the cap of ${gwei(maxFeePerGas)}`,
      waitingReasons.fees.fix(chain.chainId),
    )
  if (chain.waiting.fees !== undefined)
    return warn(
      name,
      `${counted(chain.waiting.fees, 'transaction')}: ${waitingReasons.fees.why}`,
      waitingReasons.fees.fix(chain.chainId),
    )
  const left = transfersLeft(chain, balance)
  if (left !== undefined)
    return warn(name, `the relayer has ${coins(balance)}, enough for ${left} transfers`, pay)
  return ok(name, describeChain(chain))
}

const payTo = (address: string): string => `send some of the chain's coin to ${address}`

/** undefined: enough for now. */
function transfersLeft({ baseFee }: Chain, balance: string): bigint | undefined {
  const cost = BigInt(baseFee ?? 0) * typicalGas
  return cost * fewTransfers > BigInt(balance) ? BigInt(balance) / cost : undefined
}

/** The chain's own finding is about the first one. */
function checkRelayer(chain: Chain, relayer: Relayer): Finding {
  const { name: signer, address, balance, unsettled, jam } = relayer
  const name = `chain ${chain.chainId} ${signer}`
  const about = describeRelayer(relayer)
  const held = `${counted(unsettled, 'transaction')} of it ${unsettled === 1 ? 'is' : 'are'} unsettled`
  const isPoor = jam === 'funds' || (balance !== null && BigInt(balance) === 0n)
  if (isPoor)
    return (unsettled > 0 ? fail : warn)(
      name,
      `${about} cannot pay: ${held}, and others send what is new`,
      payTo(address),
    )
  if (jam !== null)
    return warn(
      name,
      `${about} does not get on (${waitingReasons[jam].why}): ${held}, and others send what is new`,
      waitingReasons[jam].fix(chain.chainId),
    )
  const left = balance === null ? undefined : transfersLeft(chain, balance)
  return left === undefined
    ? ok(name, `${about}, ${unsettled} unsettled`)
    : warn(name, `${about}, enough for ${left} transfers`, payTo(address))
}

const checkMissing = ({ chainId, missing = [] }: Partial<Chain>): Finding[] =>
  missing.map(({ signer, unsettled }) =>
    fail(
      `chain ${chainId} ${signer}`,
      `${counted(unsettled, 'transaction')} of ${signer}, which is not configured here, cannot go on`,
      `start with its key again (TAPCHIP_RELAYERS_${chainId}) until they are settled: tapchip transactions list --chain-id ${chainId}; or cancel those that are queued`,
    ),
  )

const fixOf = (
  {
    code,
    transactionId,
  }: Partial<NonNullable<Chain['trouble']>> & Pick<NonNullable<Chain['trouble']>, 'code'>,
  { chainId, isEmbedded }: Chain,
): string => {
  if (code === 'stuck') return `see what it waits for: tapchip transactions show ${transactionId}`
  if (isEmbedded && code !== 'signer') return 'see why: tapchip daemon logs --level warn'
  return {
    'wrong-chain': `set TAPCHIP_RPC_${chainId} to a URL of chain ${chainId}, and start the daemon again`,
    'lease-held': 'stop the other daemon, or give this one a key of its own',
    'key-changed': `start with the old TAPCHIP_RELAYER_KEY_${chainId} until all transactions are settled: tapchip transactions list --chain-id ${chainId}`,
    signer: signerFix(chainId),
    node: `check TAPCHIP_RPC_${chainId} and the service behind it; nothing is lost meanwhile`,
  }[code]
}
