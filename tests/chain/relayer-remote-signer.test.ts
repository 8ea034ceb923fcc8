import pino from 'pino'
import { type Hex, parseTransaction, recoverTransactionAddress, toHex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { remoteRelayers } from '../../src/daemon/chain/keys/remote-relayers.ts'
import type { TransactionSigner } from '../../src/daemon/chain/keys/transaction-signer.ts'
import { Web3signer } from '../../src/daemon/chain/keys/web3signer.ts'
import { type Bench, type BenchOptions, openBench, slots } from '../support/relayer.ts'
import { openWeb3signer, type SignerFault, type Web3signerStandIn } from '../support/web3signer.ts'

const secrets: readonly Hex[] = ['a1', 'b2', 'c3'].map((byte): Hex => `0x${byte.repeat(32)}`)
const [first, second, third] = secrets.map(privateKeyToAddress)
const log = pino({ level: 'silent' })
let mayTake: (address: string) => boolean = () => true

let signer: Web3signerStandIn
let client: Web3signer
let bench: Bench
let options: BenchOptions
const relayersOf = (count: number, of = client) =>
  remoteRelayers({ db: bench.db, log }, { chainId: 31337, count, signer: of, mayTake })

beforeEach(async () => {
  signer = await openWeb3signer(secrets)
  client = new Web3signer(signer.url)
  options = {}
  bench = await openBench(options)
  for (const secret of secrets)
    await bench.rpc('anvil_setBalance', [privateKeyToAddress(secret), toHex(10n ** 20n)])
})
afterEach(async () => {
  mayTake = () => true
  await bench.close()
  client.close()
  await signer.close()
})

/** A relayer that sends by the signer's first key. */
async function useSigner(): Promise<TransactionSigner> {
  const [relayer] = await relayersOf(1)
  options.chain = { signers: { relayer } }
  bench.relayer = await bench.open()
  return relayer
}

test('a relayer without a key here sends each intent once, signed by its address', async () => {
  const relayer = await useSigner()
  const ids = await Promise.all(slots(20).map((slot) => bench.intend(slot)))
  await bench.finish()
  for (const slot of slots(20)) expect(await bench.tallied(slot)).toBe(1)
  for (const id of ids) expect(await bench.show(id)).toMatchObject({ sender: relayer.address, signings: 1 })
  const [{ raw } = { raw: '' }] = await bench.db.read.selectFrom('transactionAttempts').selectAll().execute()
  expect(await recoverTransactionAddress({ serializedTransaction: raw as `0x02${string}` })).toBe(first)
  expect(parseTransaction(raw as Hex).chainId).toBe(31337)
})

const faults: readonly (readonly [SignerFault, RegExp])[] = [
  ['is cut off', /does not answer/],
  ['forbids', /refuses \(HTTP 403\)/],
  ['fails', /refuses \(HTTP 500\)/],
  ['is a web page', /answers without a signature/],
  ['is endless', /more than 262144 bytes/],
  ['says nothing', /answers without a signature/],
  ['signs with another key', /signed something else, or not with the key of 0x/],
  ['signs something else', /signed something else, or not with the key of 0x/],
  ['signs above half of the order', /answers without a signature/],
  ['signs with the other parity', /signed something else, or not with the key of 0x/],
  ['signs zeros', /signed something else, or not with the key of 0x/],
  ['sends on to another host', /refuses \(HTTP 307\)/],
  ['drips', /did not answer in full within 5000 ms/],
]

describe('a signer that', () => {
  test.each(faults)(
    '%s: nothing is sent, everything waits with the reason and goes on',
    async (fault, why) => {
      await useSigner()
      signer.fault = fault
      const ids = await Promise.all(slots(3).map((slot) => bench.intend(slot)))
      const [status] = await bench.relayer.tick()
      expect(status?.trouble?.message).toMatch(why)
      expect(status?.trouble?.message).toContain(signer.host)
      for (const id of ids)
        expect(await bench.show(id)).toMatchObject({
          state: 'queued',
          nonce: null,
          waiting: 'signer',
          waitingWords: expect.stringMatching(why),
        })
      expect(await bench.db.read.selectFrom('transactionAttempts').selectAll().execute()).toEqual([])
      signer.fault = undefined
      await bench.finish()
      for (const slot of slots(3)) expect(await bench.tallied(slot)).toBe(1)
      expect(bench.relayer.status()[0]?.trouble).toBeUndefined()
    },
  )

  test('hangs does not keep what is signed from being sent and mined, and holds no write open', async () => {
    await useSigner()
    const sent = await bench.intend(0)
    await bench.relayer.tick()
    signer.fault = 'hangs'
    const waiting = await bench.intend(1)
    await bench.mine()
    const tick = bench.relayer.tick()
    await expect.poll(() => signer.asked.length).toBeGreaterThan(2)
    await bench.db.write((trx) => trx.updateTable('transactions').set({ subject: '{}' }).execute())
    await tick
    expect(await bench.state(sent)).toBe('confirmed')
    expect(await bench.show(waiting)).toMatchObject({ state: 'queued', waiting: 'signer' })
    signer.fault = undefined
    await bench.finish()
    expect(await bench.tallied(1)).toBe(1)
  })

  test('is slow signs for some seconds in each tick, and holds up nothing that is sent', async () => {
    const relayer = await useSigner()
    const signTransaction: typeof relayer.signTransaction = (transaction) => {
      bench.clock.advance('1s')
      return relayer.signTransaction(transaction)
    }
    options.chain = { signers: { relayer: { address: relayer.address, signTransaction } } }
    bench.relayer = await bench.open()
    await Promise.all(slots(40).map((slot) => bench.intend(slot)))
    const queued = async () =>
      (await bench.db.read.selectFrom('transactions').select('id').where('state', '=', 'queued').execute())
        .length
    await bench.relayer.tick()
    expect(await queued()).toBe(32)
    await bench.relayer.tick()
    expect(await queued()).toBe(24)
    await bench.finish()
    for (const slot of slots(40)) expect(await bench.tallied(slot)).toBe(1)
  })

  test('hangs does not hold up a stop', async () => {
    const relayer = await useSigner()
    signer.fault = 'hangs'
    const unsigned = { type: 'legacy', chainId: 1, nonce: 0, gasPrice: 1n } as const
    const before = signer.asked.length
    const signing = relayer.signTransaction(unsigned)
    const refused = expect(signing).rejects.toThrow(/could not be reached/)
    await expect.poll(() => signer.asked.length).toBeGreaterThan(before)
    client.close()
    await refused
    await expect(relayer.signTransaction(unsigned)).rejects.toThrow(/the daemon is stopping/)
  })

  test('lost the key, or has another one, signs nothing until it has it again', async () => {
    await useSigner()
    signer.secrets = [`0x${'d4'.repeat(32)}`]
    const id = await bench.intend(0)
    await bench.relayer.tick()
    expect((await bench.show(id)).waitingWords).toBe(
      `The signer at ${signer.host} does not have the key of ${first} (HTTP 404)`,
    )
    signer.secrets = secrets
    await bench.finish()
    expect(await bench.show(id)).toMatchObject({ state: 'confirmed', sender: first })
  })

  test('is down while nothing waits is in the status, and no longer once it is back', async () => {
    await useSigner()
    signer.secrets = []
    const trouble = async () => (await bench.relayer.tick())[0]?.trouble?.message
    await expect
      .poll(trouble, { timeout: 20_000 })
      .toBe(`The signer at ${signer.host} does not have the key of ${first}`)
    signer.secrets = secrets
    await expect.poll(trouble, { timeout: 20_000 }).toBeUndefined()
  })

  test('stops amid many loses none, and signs none twice', async () => {
    await useSigner()
    const many = slots(40)
    await Promise.all(many.map((slot) => bench.intend(slot)))
    const stopped = expect
      .poll(() => signer.asked.length)
      .toBeGreaterThan(12)
      .then(() => {
        signer.fault = 'is cut off'
      })
    await bench.relayer.tick()
    await stopped
    expect(bench.relayer.status()[0]?.unsettled).toBe(40)
    signer.fault = undefined
    await bench.finish()
    for (const slot of many) expect(await bench.tallied(slot)).toBe(1)
    expect(Number(await bench.rpc('eth_getTransactionCount', [first, 'latest']))).toBe(40)
  })

  test('is down when a transaction is cancelled replaces it later', async () => {
    await useSigner()
    const id = await bench.intend(0)
    await bench.relayer.tick()
    signer.fault = 'is cut off'
    expect(await bench.relayer.cancel(id, 'a mistake')).toBe(true)
    await bench.relayer.tick()
    expect(await bench.show(id)).toMatchObject({ state: 'broadcast', waiting: 'signer' })
    signer.fault = undefined
    await bench.relayer.tick()
    await bench.finish()
    expect(await bench.tallied(0)).toBe(0)
  })
})

test('a signer that lost one of two keys stops that relayer alone: the other sends what waits', async () => {
  const [relayer, another] = await relayersOf(2)
  if (another === undefined) throw new Error('the signer has two keys')
  options.chain = { signers: { relayer, 'relayer-2': another } }
  bench.relayer = await bench.open()
  signer.secrets = secrets.slice(1)
  const candidates = ['relayer', 'relayer-2']
  const ids = await Promise.all(slots(10).map((slot) => bench.intend(slot, { candidates })))
  const bound = await bench.intend(11)
  // The jam is seen first, then what it left is taken.
  await bench.relayer.tick()
  expect(bench.relayer.status().map(({ jam }) => jam)).toEqual(['signer', null])
  const isLeft = async () => (await Promise.all(ids.map(bench.state))).includes('queued')
  while (await isLeft()) await bench.relayer.tick()
  await bench.mine()
  await bench.relayer.tick()
  for (const id of ids) expect(await bench.show(id)).toMatchObject({ state: 'confirmed', sender: second })
  expect(await bench.show(bound)).toMatchObject({ state: 'queued', waiting: 'signer' })
  signer.secrets = secrets
  await bench.finish()
  expect(await bench.show(bound)).toMatchObject({ state: 'confirmed', sender: first })
})

describe('which key belongs to which relayer', () => {
  const addresses = async (count: number, of = client) =>
    (await relayersOf(count, of)).map(({ address }) => address)

  test('is the signer’s order when it is first asked, and stays so in any other order', async () => {
    expect(await addresses(2)).toEqual([first, second])
    signer.secrets = [...secrets].reverse()
    expect(await addresses(2)).toEqual([first, second])
    expect(await addresses(3)).toEqual([first, second, third])
    expect(await addresses(1)).toEqual([first])
  })

  test('is none that may not be taken: it is not kept either, so that a signer can get another one', async () => {
    mayTake = (address) => address === second
    expect(await addresses(2)).toEqual([second])
    mayTake = () => false
    expect(await addresses(2)).toEqual([second])
    mayTake = () => true
    expect(await addresses(2)).toEqual([second, first])
  })

  test('is known while the signer is down, but not before it was ever asked', async () => {
    signer.fault = 'is cut off'
    await expect(relayersOf(1)).rejects.toThrow(/does not answer/)
    signer.fault = undefined
    const again = new Web3signer(signer.url)
    await addresses(2, again)
    signer.fault = 'is cut off'
    expect(await addresses(2, new Web3signer(signer.url))).toEqual([first, second])
    // A further one is not known, and must not stop the others.
    expect(await addresses(3, new Web3signer(signer.url))).toEqual([first, second])
  })

  test('changes only at a signer with another address that does not have it', async () => {
    await addresses(2)
    signer.secrets = secrets.slice(1)
    expect(await addresses(2, new Web3signer(signer.url))).toEqual([first, second])
    const other = await openWeb3signer([secrets[2] ?? '0x', secrets[1] ?? '0x'])
    const moved = new Web3signer(other.url)
    expect(await addresses(2, moved)).toEqual([third, second])
    await other.close()
    expect(await addresses(2, new Web3signer(other.url))).toEqual([third, second])
  })

  test('is the same for ten daemons that ask at the same time', async () => {
    const all = await Promise.all(
      Array.from({ length: 10 }, async (_, n) => {
        const of = await openWeb3signer(n % 2 === 0 ? secrets : [...secrets].reverse())
        const found = await addresses(3, new Web3signer(of.url)).finally(() => of.close())
        return found.join()
      }),
    )
    const now = (await addresses(3)).join()
    expect(new Set([...all, now]).size).toBe(1)
    expect(now.split(',').toSorted()).toEqual([first, second, third].toSorted())
  })
})
