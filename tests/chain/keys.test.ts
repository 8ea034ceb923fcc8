import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import pino from 'pino'
import { keccak256, toHex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isDevKey, ownDevKeys } from '../../src/daemon/chain/dev-chain/dev-keys.ts'
import { devKey, loadChainKeys } from '../../src/daemon/chain/keys/chain-keys.ts'
import { openKeystore } from '../../src/daemon/chain/keys/keystore.ts'
import { KeyProblem, SigningKey } from '../../src/daemon/chain/keys/signing-key.ts'
import { makeKeystore } from '../support/keystore.ts'

const secret = '7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d'
const other = '22'.repeat(32)
// From geth's accounts/keystore/testdata/v3_test_vector.json, "31_byte_key".
const vector = JSON.stringify({
  crypto: {
    cipher: 'aes-128-ctr',
    cipherparams: { iv: 'e0c41130a323adc1446fc82f724bca2f' },
    ciphertext: '9517cd5bdbe69076f9bf5057248c6c050141e970efa36ce53692d5d59a3984',
    kdf: 'scrypt',
    kdfparams: {
      dklen: 32,
      n: 2,
      r: 8,
      p: 1,
      salt: '711f816911c92d649fb4c84b047915679933555030b3552c1212609b38208c63',
    },
    mac: 'd5e116151c6aa71470e67a7d42c9620c75c4d23229847dcc127794f0732b0db5',
  },
  id: 'fecfc4ce-e956-48fd-953b-30f8b52ed66c',
  version: 3,
})
const vectorKey = '00fa7b3db73dc7dfdf8c5fbdb796d741e4488628c41fc4febd9160a866ba0f35'
const address = '0x008AeEda4D805471dF9b2A5B0f38A0C3bCBA786b'

describe('a keystore', () => {
  test('opens as geth’s vector says', async () => {
    const expected = SigningKey.of(vectorKey, 'test').address
    expect((await openKeystore(vector, 'foo', 'vector')).address).toBe(expected)
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
    ['another derivation', vector.replace('"scrypt"', '"pbkdf2"')],
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
    expect(fromFile.get(5)?.relayer.address).toBe(address)
    const both = { ...environment, TAPCHIP_RELAYER_KEY_5: '33'.repeat(32) }
    const fromEnvironment = await loadChainKeys([5], { environment: both, keystore })
    expect(fromEnvironment.get(5)?.relayer.address).not.toBe(address)
  })

  test('of the dev chain are its own, two of them, unless others are given', async () => {
    const keys = (await loadChainKeys([31337], { environment: {}, keystore: undefined })).get(31337)
    expect(keys?.relayer.address).toBe(privateKeyToAccount(ownDevKeys.relayer).address)
    expect(keys?.signVerifier.address).not.toBe(keys?.relayer.address)
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

  test('have one job each: no relayer that verifies, no verifier of two chains', async () => {
    const one = { TAPCHIP_RELAYER_KEY_5: other, TAPCHIP_SIGN_VERIFIER_KEY_5: other }
    await expect(loadChainKeys([5], { environment: one, keystore: undefined })).rejects.toThrow(/must differ/)
    const environment = {
      TAPCHIP_RELAYER_KEY_5: secret,
      TAPCHIP_RELAYER_KEY_6: secret,
      TAPCHIP_SIGN_VERIFIER_KEY_5: other,
      TAPCHIP_SIGN_VERIFIER_KEY_6: other,
    }
    await expect(loadChainKeys([5, 6], { environment, keystore: undefined })).rejects.toThrow(/needs its own/)
  })
})
