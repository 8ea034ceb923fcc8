import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import pino from 'pino'
import { keccak256, toHex } from 'viem'
import { generatePrivateKey, privateKeyToAccount, privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { furtherDevRelayerKey, isDevKey, ownDevKeys } from '../../src/daemon/chain/dev-chain/dev-keys.ts'
import { devKey, loadChainKeys, signersOf } from '../../src/daemon/chain/keys/chain-keys.ts'
import { openKeystore } from '../../src/daemon/chain/keys/keystore.ts'
import { KeyProblem, SigningKey } from '../../src/daemon/chain/keys/signing-key.ts'
import { maxRelayers } from '../../src/daemon/chain/keys/transaction-signer.ts'
import { makeKeystore } from '../support/keystore.ts'

const secret = '7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d'
const other = '22'.repeat(32)
const {
  source: _,
  '31_byte_key': scrypt,
  wikipage_test_vector_pbkdf2: pbkdf2,
  ...others
} = JSON.parse(readFileSync(new URL('../../fixtures/vectors/keystores.json', import.meta.url), 'utf8'))
const vector = JSON.stringify(scrypt.json)
const address = '0x008AeEda4D805471dF9b2A5B0f38A0C3bCBA786b'

describe('a keystore', () => {
  test.each([scrypt, pbkdf2, ...Object.values<typeof scrypt>(others)])(
    'opens as geth’s vector says: $json.id',
    async ({ json, password, priv }) => {
      const expected = SigningKey.of(priv.padStart(64, '0'), 'test').address
      expect((await openKeystore(JSON.stringify(json), password, 'vector')).address).toBe(expected)
    },
  )

  test.each([
    [
      'as ethers writes it',
      (json: string) => json.replace('"crypto"', '"x-ethers":{"version":"0.1"},"Crypto"'),
    ],
    [
      'with names in capitals',
      (json: string) => json.replace(/"(crypto|kdf|kdfparams|cipher)":/gi, (name) => name.toUpperCase()),
    ],
  ])('opens %s', async (_, written) => {
    const expected = SigningKey.of(scrypt.priv.padStart(64, '0'), 'test').address
    expect((await openKeystore(written(vector), 'foo', 'file')).address).toBe(expected)
  })

  test('that was made here opens here, with its password alone', async () => {
    const kept = JSON.stringify(makeKeystore(Buffer.from(secret, 'hex'), 'pässword', 1024))
    expect(kept).not.toContain(secret)
    expect((await openKeystore(kept, 'pässword', 'file')).address).toBe(address)
    await expect(openKeystore(kept, 'password', 'file')).rejects.toThrow(/password is wrong/)
  })

  test.each([
    ['no JSON', '{'],
    ['another version', vector.replace('"version":3', '"version":1')],
    ['another derivation', vector.replace('"scrypt"', '"argon2id"')],
    ['one whose parameters are of another derivation', vector.replace('"scrypt"', '"pbkdf2"')],
    ['one with another hash', JSON.stringify(pbkdf2.json).replace('hmac-sha256', 'hmac-sha1')],
    ['one that would take minutes', JSON.stringify(pbkdf2.json).replace('"c":262144', '"c":4294967296')],
    ['one with impossible parameters', vector.replace('"r":8', '"r":1').replace('"n":2,', '"n":262144,')],
    ['one that would take all memory', vector.replace('"n":2,', '"n":1073741824,')],
  ])('that is %s is refused with a reason', async (_, json) => {
    await expect(openKeystore(json, 'testpassword', 'f.json')).rejects.toThrow(KeyProblem)
  })
})

describe('a key', () => {
  test('shows nothing but its address, however it is printed', () => {
    const key = SigningKey.of(`0x${secret}`, 'test')
    const lines: string[] = []
    pino({}, { write: (line) => lines.push(line) }).info({ key, nested: { key } })
    const shown = [
      JSON.stringify(key),
      `${key}`,
      inspect(key, { depth: 9, showHidden: true }),
      inspect({ key }, { depth: 9 }),
      JSON.stringify({ ...key }),
      JSON.stringify(structuredClone({ ...key, signTransaction: undefined })),
      ...lines,
    ].join()
    expect(shown).toContain(address)
    expect(shown.toLowerCase()).not.toContain(secret)
  })

  test.each(['', '0x12', 'zz'.repeat(32), `${secret}00`, '00'.repeat(32), 'ff'.repeat(32)])(
    'that is none is refused without being quoted: %j',
    (text) => {
      const refused = () => SigningKey.of(text, 'TAPCHIP_RELAYER_KEY_1')
      expect(refused).toThrow(KeyProblem)
      expect(refused).toThrow(/^TAPCHIP_RELAYER_KEY_1 does not contain a private key/)
      try {
        refused()
      } catch (error) {
        if (text !== '') expect(inspect(error, { depth: 9 })).not.toContain(text)
      }
    },
  )
})

describe('the keys of chains', () => {
  let folder: string
  let keystore: { folder: string; passwordFile: string }
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tapchip-keys-'))
    keystore = { folder, passwordFile: join(folder, 'password') }
    writeFileSync(keystore.passwordFile, 'testpassword\n')
    const kept = makeKeystore(Buffer.from(secret, 'hex'), 'testpassword', 1024)
    writeFileSync(join(folder, '5-relayer.json'), JSON.stringify(kept))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test('come from the environment first, then from the keystore', async () => {
    const environment = { TAPCHIP_SIGN_VERIFIER_KEY_5: other }
    const fromFile = await loadChainKeys([5], { environment, keystore })
    expect(fromFile.get(5)?.relayers[0].address).toBe(address)
    const both = { ...environment, TAPCHIP_RELAYER_KEY_5: '33'.repeat(32) }
    const fromEnvironment = await loadChainKeys([5], { environment: both, keystore })
    expect(fromEnvironment.get(5)?.relayers[0].address).not.toBe(address)
  })

  test.each([
    ['UTF-8', (text: string) => Buffer.from(`\uFEFF${text}`)],
    ['UTF-16', (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le')],
  ])('are read from files with a byte order mark: %s', async (_, encoded) => {
    const passwordFile = join(folder, 'password-of-windows')
    writeFileSync(passwordFile, encoded('testpassword\r\n'))
    const kept = makeKeystore(Buffer.from(secret, 'hex'), 'testpassword', 1024)
    writeFileSync(join(folder, '9-relayer.json'), encoded(JSON.stringify(kept)))
    const sources = {
      environment: { TAPCHIP_SIGN_VERIFIER_KEY_9: other },
      keystore: { folder, passwordFile },
    }
    expect((await loadChainKeys([9], sources)).get(9)?.relayers[0].address).toBe(address)
  })

  test('of the dev chain are its own, two of them, unless others are given', async () => {
    const keys = (await loadChainKeys([31337], { environment: {}, keystore: undefined })).get(31337)
    expect(keys?.relayers[0].address).toBe(privateKeyToAccount(ownDevKeys.relayer).address)
    expect(keys?.signVerifier.address).not.toBe(keys?.relayers[0].address)
  })

  test('of further relayers come from variables and files with their number', async () => {
    const third = makeKeystore(Buffer.from('44'.repeat(32), 'hex'), 'testpassword', 1024)
    writeFileSync(join(folder, '7-relayer-3.json'), JSON.stringify(third))
    const environment = {
      TAPCHIP_RELAYER_KEY_7: secret,
      TAPCHIP_RELAYER_KEY_7_2: '33'.repeat(32),
      TAPCHIP_SIGN_VERIFIER_KEY_7: other,
    }
    const load = (relayers: number) =>
      loadChainKeys([7], { environment, keystore, chains: new Map([[7, { relayers }]]) })
    const keys = (await load(3)).get(7)
    expect(keys && Object.keys(signersOf(keys))).toEqual(['relayer', 'relayer-2', 'relayer-3'])
    expect(keys?.relayers.map((signer) => signer.address)).toEqual(
      [`0x${secret}`, `0x${'33'.repeat(32)}`, `0x${'44'.repeat(32)}`].map((key) =>
        privateKeyToAddress(key as `0x${string}`),
      ),
    )
    expect((await load(1)).get(7)?.relayers).toHaveLength(1)
    await expect(load(4)).rejects.toThrow(/no relayer-4 key. Set TAPCHIP_RELAYER_KEY_7_4,.*7-relayer-4\.json/)
  })

  test('of further relayers of the dev chain are its own, and public too', async () => {
    const chains = new Map([[31337, { relayers: maxRelayers }]])
    const keys = (await loadChainKeys([31337], { environment: {}, keystore: undefined, chains })).get(31337)
    const addresses = new Set(keys?.relayers.map((signer) => signer.address))
    expect(addresses.size).toBe(maxRelayers)
    expect([...addresses].every(isDevKey)).toBe(true)
  })

  test('that are missing are named', async () => {
    await expect(loadChainKeys([5], { environment: {}, keystore })).rejects.toThrow(
      /TAPCHIP_SIGN_VERIFIER_KEY_5.*5-sign-verifier\.json/,
    )
  })

  test('that come with the dev chain are refused on any other', async () => {
    const known = [
      'ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
      ...Object.values(ownDevKeys),
      furtherDevRelayerKey(16),
    ]
    for (const key of known) {
      const environment = { TAPCHIP_RELAYER_KEY_1: key, TAPCHIP_SIGN_VERIFIER_KEY_1: other }
      await expect(loadChainKeys([1], { environment, keystore: undefined })).rejects.toThrow(/are public/)
    }
    expect(isDevKey(devKey('relayer').address)).toBe(true)
  })

  test('sign as viem does, bit for bit', async () => {
    for (let round = 0; round < 50; round++) {
      const privateKey = generatePrivateKey()
      const viems = privateKeyToAccount(privateKey)
      const ours = SigningKey.of(privateKey, 'test')
      expect(ours.address).toBe(viems.address)
      const raw = keccak256(toHex(round))
      expect(await ours.signMessage({ raw })).toBe(await viems.signMessage({ message: { raw } }))
      const transaction = {
        type: 'eip1559',
        chainId: 31337,
        nonce: round,
        to: viems.address,
        data: raw,
        gas: 21_000n,
        maxFeePerGas: 3n,
        maxPriorityFeePerGas: 1n,
      } as const
      expect(await ours.signTransaction(transaction)).toBe(await viems.signTransaction(transaction))
    }
  })

  test('have one job each: no relayer that verifies or is two, no verifier of two chains', async () => {
    const one = { TAPCHIP_RELAYER_KEY_5: other, TAPCHIP_SIGN_VERIFIER_KEY_5: other }
    await expect(loadChainKeys([5], { environment: one, keystore: undefined })).rejects.toThrow(/must differ/)
    const two = {
      TAPCHIP_RELAYER_KEY_5: secret,
      TAPCHIP_RELAYER_KEY_5_2: `0x${secret}`,
      TAPCHIP_SIGN_VERIFIER_KEY_5: other,
    }
    const chains = new Map([[5, { relayers: 2 }]])
    const load = (environment: Record<string, string>) =>
      loadChainKeys([5], { environment, keystore: undefined, chains })
    await expect(load(two)).rejects.toThrow(/relayer-2 and relayer have the same key/)
    await expect(load({ ...two, TAPCHIP_RELAYER_KEY_5_2: other })).rejects.toThrow(
      /relayer-2 and the sign verifier have the same key/,
    )
    const environment = {
      TAPCHIP_RELAYER_KEY_5: secret,
      TAPCHIP_RELAYER_KEY_6: secret,
      TAPCHIP_SIGN_VERIFIER_KEY_5: other,
      TAPCHIP_SIGN_VERIFIER_KEY_6: other,
    }
    await expect(loadChainKeys([5, 6], { environment, keystore: undefined })).rejects.toThrow(/needs its own/)
  })
})
