import { join } from 'node:path'
import { startAnvil } from '../lib/anvil.mjs'
import { bundled } from '../lib/bundle.mjs'
import { apiKey, call, keySet, startDaemonWith } from '../lib/daemon.mjs'
import { stayOn } from '../lib/machine.mjs'

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

/** Transfers that lose nothing, against viem as it is usually written, and against the chain's own limit. */
export async function measureChain({ cores, dir, rounds, tokens, waited }) {
  // Relayer, chain and peers work together here: keeping them on one core would measure the queue for it.
  stayOn([cores.server, cores.load])
  const peers = await bundled(dir('chain-peers'), 'viem-transfers')
  const { openRelayerBench } = await bundled(dir('chain-peers'), 'relayer')
  const automine = await startAnvil([])
  const byHand = await startAnvil(['--no-mining', '--order', 'fees'])
  const contracts = { automine: await peers.deployTo(automine.url), byHand: await peers.deployTo(byHand.url) }
  const relayer = await openRelayerBench(join(dir('chain'), 'relayer'), seedOf(tokens), recipientOf)
  const daemon = await startDaemonWith(dir('chain-http'), seedOf(tokens))
  const rows = {
    waited: row('durable transfers, relayer', 5, 'viem write-and-wait'),
    signed: row('durable transfers, relayer', 0.25, 'pre-signed, mined by hand'),
    http: row('durable transfers, POST /phygitals/transfer', undefined, 'pre-signed, mined by hand'),
  }
  for (let round = 1; round <= rounds; round++) {
    const slow = await peers.writeAndWait(automine.url, contracts.automine, round * waited, waited)
    const limit = await peers.preSigned(byHand.url, contracts.byHand, round * tokens, tokens)
    const ours = await relayer.round()
    const overHttp = await transferAll(daemon, tokens, round)
    add(rows.waited, ours, slow)
    add(rows.signed, ours, limit)
    add(rows.http, overHttp, limit)
  }
  rows.http.notes.push(
    '64 at a time; each request asks the chain for owner and recipient first, and has its key',
  )
  rows.waited.notes.push('nothing is pinned here: daemon, chain and load are three processes on these cores')
  await relayer.close()
  await Promise.all([daemon.stop(), automine.stop(), byHand.stop()])
  stayOn([cores.load])
  return Object.values(rows)
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
