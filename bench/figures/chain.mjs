import { join } from 'node:path'
import { startAnvil } from '../lib/anvil.mjs'
import { bundled } from '../lib/bundle.mjs'
import { apiKey, call, keySet, startDaemonWith } from '../lib/daemon.mjs'
import { stayOn } from '../lib/machine.mjs'
import { tried, within } from '../lib/within.mjs'

const uidOf = (n) => `04C0${n.toString(16).padStart(8, '0').toUpperCase()}80`
/** Fifty people get all the tokens, so that claim nonces are predicted as in the field. */
const recipientOf = (n, round) => `0x${(0xbb0000 + round * 1000 + (n % 50)).toString(16).padStart(40, '0')}`

const seedOf = (tokens) => ({
  version: 1,
  keySets: [{ ...keySet, diversification: 'an10922', macInputFrom: 'd' }],
  teams: [
    {
      name: 'Bench',
      apiKeys: [{ name: 'bench', key: apiKey }],
      contracts: [{ symbol: 'JKT', name: 'Jackets', chainId: 31337 }],
      chipGroups: [
        {
          name: 'Stock',
          chips: Array.from({ length: tokens }, (_, n) => ({
            uid: uidOf(n + 1),
            keySet: keySet.id,
            token: { contract: 'JKT', tokenId: String(n + 1), owner: recipientOf(n, 0) },
          })),
        },
      ],
    },
  ],
})

/** How long a part may take to open, and for a round. */
const partSeconds = 60

/** Transfers that lose nothing, against viem as it is usually written, and against the chain's own limit. */
export async function measureChain({ cores, dir, announce, rounds, tokens, waited }) {
  // Relayer, chain and peers work together here: keeping them on one core would measure the queue for it.
  stayOn([cores.server, cores.load])
  const [byWaiting, bySigning, overHttp] = announce(
    row('durable transfers, relayer', 12, 'viem write-and-wait'),
    row('durable transfers, relayer', 0.5, 'pre-signed, mined by hand'),
    row('durable transfers, POST /phygitals/transfer', undefined, 'pre-signed, mined by hand'),
  )
  overHttp.notes.push(
    '64 at a time; each request asks the chain for owner and recipient first, and has its key',
  )
  byWaiting.notes.push('nothing is pinned here: daemon, chain and load are three processes on these cores')
  const peers = await bundled(dir('chain-peers'), 'peers/viem-transfers')
  /** Each opens what it needs in its first round, so that one that cannot fails alone. */
  const parts = {
    slow: part([byWaiting], async () => {
      const { url, stop } = await startAnvil([])
      const contract = await peers.deployTo(url)
      return { run: (round) => peers.writeAndWait(url, contract, round * waited, waited), close: stop }
    }),
    limit: part([bySigning, overHttp], async () => {
      const { url, stop } = await startAnvil(['--no-mining', '--order', 'fees'])
      const contract = await peers.deployTo(url)
      return { run: (round) => peers.preSigned(url, contract, round * tokens, tokens), close: stop }
    }),
    relayer: part([byWaiting, bySigning], async () => {
      const { openRelayerBench } = await bundled(dir('chain-peers'), 'peers/relayer')
      const relayer = await openRelayerBench(join(dir('chain'), 'relayer'), seedOf(tokens), recipientOf)
      return { run: () => relayer.round(), close: () => relayer.close() }
    }),
    http: part([overHttp], async () => {
      const daemon = await startDaemonWith(dir('chain-http'), seedOf(tokens))
      return { run: (round) => transferAll(daemon, tokens, round), close: () => daemon.stop() }
    }),
  }
  for (let round = 1; round <= rounds; round++) {
    const slow = await parts.slow.round(round)
    const limit = await parts.limit.round(round)
    const ours = await parts.relayer.round(round)
    const http = await parts.http.round(round)
    add(byWaiting, ours, slow)
    add(bySigning, ours, limit)
    add(overHttp, http, limit)
  }
  await Promise.all(Object.values(parts).map((one) => one.close()))
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

/** Sends a transfer for every token, 64 under way at a time, and waits until the last is settled. */
async function transferAll(daemon, tokens, round) {
  const started = performance.now()
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
  await daemon.settled()
  return tokens / ((performance.now() - started) / 1000)
}
