import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { devChainId, isDevKey, ownDevAddresses, ownDevKeys } from '../dev-chain/dev-keys.ts'
import { openKeystore } from './keystore.ts'
import { KeyProblem, SigningKey } from './signing-key.ts'

export interface ChainKeys {
  relayer: SigningKey
  signVerifier: SigningKey
}

/** The composition root reads the environment; nothing here does. */
export interface KeySources {
  /**
   * TAPCHIP_RELAYER_KEY_<chainId> and TAPCHIP_SIGN_VERIFIER_KEY_<chainId>, by name. They override the keystore.
   */
  environment: Readonly<Record<string, string | undefined>>
  /** TAPCHIP_KEYSTORE: a folder with <chainId>-relayer.json and <chainId>-sign-verifier.json. */
  keystore: { folder: string; passwordFile: string } | undefined
}

const roles = {
  relayer: { variable: 'TAPCHIP_RELAYER_KEY', file: 'relayer' },
  signVerifier: { variable: 'TAPCHIP_SIGN_VERIFIER_KEY', file: 'sign-verifier' },
} as const
type Role = keyof typeof roles

/**
 * Loads the keys of all chains. The dev chain has default keys.
 * @throws KeyProblem if one is missing, is a dev chain key on another chain, or is used twice
 */
export async function loadChainKeys(
  chainIds: readonly number[],
  sources: KeySources,
): Promise<ReadonlyMap<number, ChainKeys>> {
  const keys = new Map<number, ChainKeys>()
  for (const chainId of chainIds) {
    keys.set(chainId, {
      relayer: await loadKey('relayer', chainId, sources),
      signVerifier: await loadKey('signVerifier', chainId, sources),
    })
  }
  refuseSharedKeys(keys)
  return keys
}

async function loadKey(role: Role, chainId: number, sources: KeySources): Promise<SigningKey> {
  const { variable, file } = roles[role]
  const name = `${variable}_${chainId}`
  const secret = sources.environment[name]
  if (secret !== undefined && secret !== '') return checked(SigningKey.of(secret, name), chainId, name)
  const kept = sources.keystore && (await fromKeystore(sources.keystore, `${chainId}-${file}.json`))
  if (kept) return checked(kept.key, chainId, kept.path)
  if (chainId === devChainId) return devKey(role)
  throw new KeyProblem(
    `Chain ${chainId} has no ${file} key. Set ${name}, or TAPCHIP_KEYSTORE to a folder with ${chainId}-${file}.json.`,
  )
}

function checked(key: SigningKey, chainId: number, from: string): SigningKey {
  refuseDevKey(key, chainId, from)
  return key
}

async function fromKeystore(
  { folder, passwordFile }: { folder: string; passwordFile: string },
  file: string,
) {
  const path = join(folder, file)
  const json = await readText(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new KeyProblem(`${path} cannot be read (${error.code}).`)
  })
  if (json === undefined) return undefined
  const password = await readText(passwordFile).catch((error: NodeJS.ErrnoException) => {
    throw new KeyProblem(`The keystore's password file ${passwordFile} cannot be read (${error.code}).`)
  })
  // Editors end a file with a line break, which is not part of the password.
  return { key: await openKeystore(json, password.replace(/\r?\n$/, ''), path), path }
}

/** Editors and shells of Windows begin a file with a byte order mark, which decoding drops. */
async function readText(path: string): Promise<string> {
  const bytes = await readFile(path)
  return new TextDecoder(bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : 'utf-8').decode(bytes)
}

/**
 * A claim's signature does not contain the chain id, so a sign verifier shared by two chains would authorize
 * the transfer on both.
 */
function refuseSharedKeys(keys: ReadonlyMap<number, ChainKeys>): void {
  const verifiers = new Map<string, number>()
  for (const [chainId, { relayer, signVerifier }] of keys) {
    if (relayer.address === signVerifier.address)
      throw new KeyProblem(
        `On chain ${chainId} relayer and sign verifier have the same key. They must differ.`,
      )
    const other = verifiers.get(signVerifier.address)
    if (other !== undefined)
      throw new KeyProblem(
        `Chains ${other} and ${chainId} share a sign verifier. Each chain needs its own, because the signature does not contain the chain id.`,
      )
    verifiers.set(signVerifier.address, chainId)
  }
}

export const devKey = (role: keyof typeof ownDevKeys): SigningKey =>
  SigningKey.known(ownDevKeys[role], ownDevAddresses[role])

/** @throws KeyProblem if a public key pair is used on a chain other than the dev chain */
function refuseDevKey(key: SigningKey, chainId: number, from: string): void {
  if (chainId === devChainId || !isDevKey(key.address)) return
  throw new KeyProblem(
    `${from} is one of the dev chain's keys (${key.address}), which are public: it is refused on chain ${chainId}. Create a key of your own.`,
  )
}
