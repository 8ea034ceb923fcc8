import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { privateKeyToAccount } from 'viem/accounts'
import { startAnvil } from '../lib/anvil.mjs'
import { openBatchProxy } from '../lib/batch-proxy.mjs'
import { bundled } from '../lib/bundle.mjs'
import { apiKey, call, cliScript, keySet, startDaemonWith } from '../lib/daemon.mjs'
import { stayOn } from '../lib/machine.mjs'
import { startCommand } from '../lib/processes.mjs'
import { tried, within } from '../lib/within.mjs'

const uidOf = (n) => `04C0${n.toString(16).padStart(8, '0').toUpperCase()}80`
/** Fifty people get all the tokens, so that claim nonces are predicted as in the field. */
const recipientOf = (n, round) => `0x${(0xbb0000 + round * 1000 + (n % 50)).toString(16).padStart(40, '0')}`

/** @param chainId one where nobody owns them yet, if it is not the embedded one */
const seedOf = (tokens, chainId = 31337) => ({
  version: 1,
  keySets: [{ ...keySet, diversification: 'an10922', macInputFrom: 'd' }],
  teams: [
    {
      name: 'Bench',
      apiKeys: [{ name: 'bench', key: apiKey }],
      contracts: [{ symbol: 'JKT', name: 'Jackets', chainId }],
      chipGroups: [
        {
          name: 'Stock',
          chips: Array.from({ length: tokens }, (_, n) => ({
            uid: uidOf(n + 1),
            keySet: keySet.id,
            token: {
              contract: 'JKT',
              tokenId: String(n + 1),
              ...(chainId === 31337 ? { owner: recipientOf(n, 0) } : {}),
            },
          })),
        },
      ],
    },
  ],
})

/** How long a part may take to open, and for a round. */
const partSeconds = 60

/** Transfers that lose nothing, against those of others, and against the chain's own limit. */
export async function measureChain({ cores, dir, announce, rounds, tokens, waited, blockSeconds }) {
  // Relayer, chain and peers work together here: keeping them on one core would measure the queue for it.
  stayOn([cores.server, cores.load])
  const [byWaiting, byQueue, bySigning, overHttp, bySheet, small, aBlock, byTwo, beside] = announce(
    row('durable transfers, relayer', 12, 'viem write-and-wait'),
    row('durable transfers, relayer', undefined, 'queue that sends one at a time'),
    row('durable transfers, relayer', 0.5, 'pre-signed, mined by hand'),
    row('durable transfers, POST /phygitals/transfer', undefined, 'pre-signed, mined by hand'),
    row('durable transfers, tapchip phygitals transfer --file', 0.8, 'the relayer alone'),
    row('durable transfers, batches of at most 3', 0.33, 'batches of any size'),
    { ...row('durable transfers in a block', 0.9, 'that may be in flight'), unit: '/block' },
    { ...row('mints in a block, two relayers', 1.8, 'one relayer'), unit: '/block' },
    row('one transfer after the other, the other relayer jammed', 0.9, 'the other relayer idle'),
  )
  overHttp.notes.push(
    '64 at a time; each request asks the chain for owner and recipient first, and has its key',
  )
  bySheet.notes.push(
    `the whole command with ${tokens} rows: its start, the upload and the plan of all rows, and a key for each row`,
  )
  byWaiting.notes.push(
    'nothing is pinned here: daemon, chain and load are three processes on these cores',
    'viem keeps nothing: a crash loses what was under way, or sends it twice; no replacement, no repair of gaps',
  )
  byQueue.notes.push(
    'the queue flushes each job to the disk, but not the signed bytes: a crash between sending and writing sends twice; no replacement, no repair of gaps, no reorganizations',
  )
  bySigning.notes.push('the limit keeps nothing, and asks for no receipt')
  small.notes.push(
    `${throughNode} transfers a round on a chain that others run, with a proxy before its node in both cases`,
  )
  aBlock.notes.push(
    `a chain that others run, with a block every ${blockSeconds} s: 64 may be in flight, since geth keeps as many that cannot run yet`,
  )
  beside.notes.push('the other one has no money, and a transaction at its lowest nonce that needs some')
  const peers = await bundled(dir('chain-peers'), 'peers/viem-transfers')
  const { openRelayerBench } = await bundled(dir('chain-peers'), 'peers/relayer')
  /** Each opens what it needs in its first round, so that one that cannot fails alone. */
  const parts = {
    slow: part([byWaiting], async () => {
      const { url, stop } = await startAnvil([])
      const contract = await peers.deployTo(url)
      return { run: (round) => peers.writeAndWait(url, contract, round * waited, waited), close: stop }
    }),
    queue: part([byQueue], async () => {
      const { openTransferQueue } = await bundled(dir('chain-peers'), 'peers/transfer-queue')
      const { url, stop } = await startAnvil([])
      const queue = openTransferQueue(join(dir('queue'), 'queue.db'), url, await peers.deployTo(url))
      const close = () => {
        queue.close()
        return stop()
      }
      return { run: (round) => queue.round(round * waited, waited), close }
    }),
    limit: part([bySigning, overHttp], async () => {
      const { url, stop } = await startAnvil(['--no-mining', '--order', 'fees'])
      const contract = await peers.deployTo(url)
      return { run: (round) => peers.preSigned(url, contract, round * tokens, tokens), close: stop }
    }),
    relayer: part([byWaiting, byQueue, bySigning, bySheet], async () => {
      const relayer = await openRelayerBench(join(dir('chain'), 'relayer'), seedOf(tokens), recipientOf)
      return { run: () => relayer.round(), close: () => relayer.close() }
    }),
    large: part([small], () => openThroughNode(join(dir('chain-large'), 'relayer'), openRelayerBench, 1000)),
    small: part([small], () => openThroughNode(join(dir('chain-small'), 'relayer'), openRelayerBench, 3)),
    http: part([overHttp, bySheet], async () => {
      const daemon = await startDaemonWith(dir('chain-http'), seedOf(tokens))
      const run = async (round) => ({
        post: await timed(daemon, tokens, () => transferAll(daemon, tokens, 2 * round)),
        sheet: await timed(daemon, tokens, () => transferSheet(daemon, dir, tokens, 2 * round + 1)),
      })
      return { run, close: () => daemon.stop() }
    }),
  }
  for (let round = 1; round <= rounds; round++) {
    const slow = await parts.slow.round(round)
    const queue = await parts.queue.round(round)
    const limit = await parts.limit.round(round)
    const ours = await parts.relayer.round(round)
    const http = await parts.http.round(round)
    add(small, await parts.small.round(round), await parts.large.round(round))
    add(byWaiting, ours, slow)
    add(byQueue, ours, queue)
    add(bySigning, ours, limit)
    add(overHttp, http?.post, limit)
    add(bySheet, http?.sheet, ours)
  }
  await Promise.all(Object.values(parts).map((one) => one.close()))
  await tried([aBlock], partSeconds, async () =>
    add(
      aBlock,
      await transfersABlock(join(dir('chain-blocks'), 'relayer'), openRelayerBench, blockSeconds),
      inFlight,
    ),
  )
  for (let round = 1; round <= 2; round++) {
    const mints = (relayers) =>
      tried([byTwo], partSeconds, () =>
        transfersABlock(
          join(dir(`chain-${relayers}-${round}`), 'relayer'),
          openRelayerBench,
          blockSeconds,
          relayers,
        ),
      )
    const one = await mints(1)
    add(byTwo, await mints(2), one)
  }
  await tried([beside], partSeconds, () =>
    besideAJam(join(dir('chain-jam'), 'relayer'), openRelayerBench, beside),
  )
}

/** Alternates between times with a jam and times without. */
async function besideAJam(place, openRelayerBench, into) {
  const { url, stop } = await startAnvil(['--block-time', '0.2', '--chain-id', String(chainId)])
  try {
    await fundAll(url)
    const relayer = await openRelayerBench(
      place,
      seedOf(inFlight, chainId),
      recipientOf,
      remoteSettings(url, 2),
    )
    await relayer.round()
    const move = async () => 1000 / (await relayer.moveBy('relayer-2', 9))
    for (let round = 1; round <= 2; round++) {
      const idle = await move()
      await fund(url, addressOf(secret), 0n)
      await relayer.leaveFor('relayer')
      await relayer.moveBy('relayer-2', 1)
      const jammed = await move()
      await fund(url, addressOf(secret))
      await relayer.moveBy('relayer', 1)
      add(into, jammed, idle)
    }
    await relayer.close()
  } finally {
    await stop()
  }
}

/** A node of somebody else's that takes batches of at most `max` calls. */
async function openThroughNode(place, openRelayerBench, max) {
  const { url, stop } = await startAnvil(['--block-time', '0.1', '--chain-id', String(chainId)])
  const proxy = await openBatchProxy(url, max)
  await fund(url, addressOf(secret))
  const seed = seedOf(throughNode, chainId)
  const relayer = await openRelayerBench(place, seed, recipientOf, remoteSettings(proxy.url))
  const close = async () => {
    await relayer.close()
    proxy.close()
    await stop()
  }
  return { run: () => relayer.round(), close }
}

const chainId = 7
const secret = '31'.repeat(32)
const secondSecret = '33'.repeat(32)
const addressOf = (key) => privateKeyToAccount(`0x${key}`).address
const fundAll = (url) => Promise.all([secret, secondSecret].map((key) => fund(url, addressOf(key))))
const remoteSettings = (url, relayers = 1) => ({
  [`TAPCHIP_RELAYERS_${chainId}`]: String(relayers),
  [`TAPCHIP_RELAYER_KEY_${chainId}_2`]: secondSecret,
  [`TAPCHIP_RPC_${chainId}`]: url,
  [`TAPCHIP_RELAYER_KEY_${chainId}`]: secret,
  [`TAPCHIP_SIGN_VERIFIER_KEY_${chainId}`]: '32'.repeat(32),
  TAPCHIP_DEV_CHAIN: 'off',
})

const throughNode = 256
const inFlight = 64
const fullBlocks = 4

/** Of a chain whose blocks come by themselves, after the contract is there. */
async function transfersABlock(place, openRelayerBench, blockSeconds, relayers = 1) {
  const { url, stop } = await startAnvil([
    '--block-time',
    String(blockSeconds),
    '--chain-id',
    String(chainId),
  ])
  try {
    await fundAll(url)
    const seed = seedOf(fullBlocks * inFlight * relayers, chainId)
    const relayer = await openRelayerBench(place, seed, recipientOf, remoteSettings(url, relayers))
    await relayer.round()
    const perBlock = await relayer.perBlock()
    await relayer.close()
    return perBlock
  } finally {
    await stop()
  }
}

async function fund(url, address, wei = 10n ** 20n) {
  const body = {
    jsonrpc: '2.0',
    id: 1,
    method: 'anvil_setBalance',
    params: [address, `0x${wei.toString(16)}`],
  }
  await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

/** @param rows that have no value without it */
function part(rows, open) {
  let opened
  return {
    round: (round) =>
      tried(rows, partSeconds, async () => {
        opened ??= await open()
        return opened.run(round)
      }),
    close: () => within(partSeconds, Promise.resolve(opened?.close())).catch(() => undefined),
  }
}

const row = (name, bar, peer) => ({
  name,
  bar,
  peer,
  unit: '/s',
  values: [],
  peers: [],
  ratios: [],
  notes: [],
})

function add(into, mine, peer) {
  if (into.error !== undefined) return
  into.values.push(mine)
  into.peers.push(peer)
  into.ratios.push(mine / peer)
}

/** @returns transfers a second, until the last is settled */
async function timed(daemon, tokens, send) {
  const started = performance.now()
  await send()
  await daemon.settled()
  return tokens / ((performance.now() - started) / 1000)
}

/** Sends a transfer for every token, 64 under way at a time. */
async function transferAll(daemon, tokens, round) {
  let next = 0
  const send = async () => {
    while (next < tokens) {
      const n = next++
      const body = JSON.stringify({
        contractAddress: daemon.contract(),
        chainId: 31337,
        tokenId: String(n + 1),
        recipient: recipientOf(n, round),
      })
      await call(daemon, 'POST', '/phygitals/transfer', {
        body,
        headers: { 'idempotency-key': `${round}-${n}` },
      })
    }
  }
  await Promise.all(Array.from({ length: 64 }, send))
}

/** The same by one command, as an operator sends a sheet. */
async function transferSheet(daemon, dir, tokens, round) {
  const contract = daemon.contract()
  const lines = Array.from(
    { length: tokens },
    (_, n) => `${contract},31337,${n + 1},${recipientOf(n, round)}`,
  )
  const file = join(dir('chain-sheet'), 'sheet.csv')
  writeFileSync(file, ['contractAddress,chainId,tokenId,recipient', ...lines].join('\n'))
  const home = dir('chain-home')
  const { ended, errors } = startCommand([cliScript, 'phygitals', 'transfer', '--file', file, '--yes'], {
    TAPCHIP_URL: daemon.url,
    TAPCHIP_API_KEY: apiKey,
    HOME: home,
    XDG_STATE_HOME: home,
    XDG_CONFIG_HOME: home,
  })
  const code = await ended
  if (code !== 0) throw new Error(`the command ended with ${code}: ${errors()}`)
}
