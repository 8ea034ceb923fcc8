import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Address } from 'viem'
import {
  devChainId,
  furtherDevRelayerKey,
  furtherDevRelayers,
  isDevKey,
  ownDevAddresses,
  ownDevKeys,
} from '../dev-chain/dev-keys.ts'
import { openKeystore } from './keystore.ts'
import { KeyProblem, SigningKey } from './signing-key.ts'
import { relayerName, SignerProblem, type TransactionSigner } from './transaction-signer.ts'

export interface ChainKeys {
  readonly relayers: readonly [TransactionSigner, ...TransactionSigner[]]
  readonly signVerifier: SigningKey
}

/** By name, as in `transactions.signer`. */
export const signersOf = ({ relayers }: ChainKeys): Readonly<Record<string, TransactionSigner>> =>
  Object.fromEntries(relayers.map((signer, position) => [relayerName(position), signer]))

/** What is configured about a chain's keys, apart from the keys. */
export interface KeySettings {
  /** The number of relayers. */
  readonly relayers: number
  /** The URL of the remote signer that has their keys. */
  readonly signer?: string | undefined
}

/** The composition root reads the environment; nothing here does. */
export interface KeySources {
  /**
   * TAPCHIP_RELAYER_KEY_<chainId>, TAPCHIP_RELAYER_KEY_<chainId>_2 …, and TAPCHIP_SIGN_VERIFIER_KEY_<chainId>, by
   * name. They override the keystore.
   */
  environment: Readonly<Record<string, string | undefined>>
  /** TAPCHIP_KEYSTORE: a folder with <chainId>-relayer.json, <chainId>-relayer-2.json …, <chainId>-sign-verifier.json. */
  keystore: { folder: string; passwordFile: string } | undefined
  /** By chain; a chain that is not in it has one relayer. */
  chains?: ReadonlyMap<number, KeySettings>
}

/** Keys of which the remote signer has not told the addresses, at any start so far. */
export interface LateKeys {
  readonly chainId: number
  readonly problem: SignerProblem
  /** @throws SignerProblem until it tells them, KeyProblem */
  load(): Promise<ChainKeys>
}

export interface RemoteRelayers {
  chainId: number
  count: number
  /** Keys that it is false for are left alone. */
  mayTake(address: Address): boolean
}

interface RemoteSources {
  /** @throws SignerProblem */
  remoteRelayers(of: RemoteRelayers & { signer: string }): Promise<ChainKeys['relayers']>
  late(keys: LateKeys): void
}

/** Where a key is looked for. */
interface KeySource {
  variable: string
  file: string
  /** On the dev chain, if it is nowhere else. */
  devKey(): SigningKey
}

const relayerSource = (chainId: number, position: number): KeySource => ({
  variable: `TAPCHIP_RELAYER_KEY_${chainId}${position === 0 ? '' : `_${position + 1}`}`,
  file: `${chainId}-${relayerName(position)}.json`,
  devKey: () => devRelayerKey(position),
})

const signVerifierSource = (chainId: number): KeySource => ({
  variable: `TAPCHIP_SIGN_VERIFIER_KEY_${chainId}`,
  file: `${chainId}-sign-verifier.json`,
  devKey: () => devKey('signVerifier'),
})

/**
 * Loads the keys of all chains. The dev chain has default keys.
 * @throws KeyProblem if one is missing, is a dev chain key on another chain, or is used twice
 */
export async function loadChainKeys(
  chainIds: readonly number[],
  sources: KeySources,
  remote?: RemoteSources,
): Promise<ReadonlyMap<number, ChainKeys>> {
  const keys = new Map<number, ChainKeys>()
  const verifiers = new Map<string, number>()
  for (const chainId of chainIds) {
    const signVerifier = await loadKey(signVerifierSource(chainId), chainId, sources)
    refuseSharedVerifier(verifiers, chainId, signVerifier)
    const load = async (): Promise<ChainKeys> => {
      const relayers = await loadRelayers(chainId, sources, remote, signVerifier)
      refuseSharedKeys(chainId, { relayers, signVerifier })
      return { relayers, signVerifier }
    }
    try {
      keys.set(chainId, await load())
    } catch (problem) {
      if (!(problem instanceof SignerProblem) || remote === undefined) throw problem
      remote.late({ chainId, problem, load })
    }
  }
  return keys
}

async function loadRelayers(
  chainId: number,
  sources: KeySources,
  remote: RemoteSources | undefined,
  signVerifier: SigningKey,
): Promise<ChainKeys['relayers']> {
  const { relayers: count = 1, signer } = sources.chains?.get(chainId) ?? {}
  if (signer !== undefined && remote !== undefined) {
    const mayTake = (address: Address) =>
      address !== signVerifier.address && (chainId === devChainId || !isDevKey(address))
    return remote.remoteRelayers({ chainId, count, signer, mayTake })
  }
  const further: SigningKey[] = []
  const first = await loadKey(relayerSource(chainId, 0), chainId, sources)
  for (let position = 1; position < count; position++)
    further.push(await loadKey(relayerSource(chainId, position), chainId, sources))
  return [first, ...further]
}

async function loadKey(
  { variable, file, devKey }: KeySource,
  chainId: number,
  sources: KeySources,
): Promise<SigningKey> {
  const secret = sources.environment[variable]
  if (secret !== undefined && secret !== '')
    return checked(SigningKey.of(secret, variable), chainId, variable)
  const kept = sources.keystore && (await fromKeystore(sources.keystore, file))
  if (kept) return checked(kept.key, chainId, kept.path)
  if (chainId === devChainId) return devKey()
  const role = file.slice(`${chainId}-`.length, -'.json'.length)
  throw new KeyProblem(
    `Chain ${chainId} has no ${role} key. Set ${variable}, or TAPCHIP_KEYSTORE to a folder with ${file}.`,
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
function refuseSharedVerifier(
  verifiers: Map<string, number>,
  chainId: number,
  { address }: SigningKey,
): void {
  const other = verifiers.get(address)
  if (other !== undefined)
    throw new KeyProblem(
      `Chains ${other} and ${chainId} share a sign verifier. Each chain needs its own, because the signature does not contain the chain id.`,
    )
  verifiers.set(address, chainId)
}

/** Two relayers with one key would take each other's nonces. */
function refuseSharedKeys(chainId: number, { relayers, signVerifier }: ChainKeys): void {
  const names = new Map([[signVerifier.address, 'the sign verifier']])
  for (const [position, { address }] of relayers.entries()) {
    const name = relayerName(position)
    const same = names.get(address)
    if (same !== undefined)
      throw new KeyProblem(`On chain ${chainId} ${name} and ${same} have the same key. They must differ.`)
    names.set(address, name)
  }
}

export const devKey = (role: keyof typeof ownDevKeys): SigningKey =>
  SigningKey.known(ownDevKeys[role], ownDevAddresses[role])

function devRelayerKey(position: number): SigningKey {
  const address = furtherDevRelayers[position - 1]
  return address === undefined
    ? devKey('relayer')
    : SigningKey.known(furtherDevRelayerKey(position + 1), address)
}

/** @throws KeyProblem if a public key pair is used on a chain other than the dev chain */
function refuseDevKey(key: SigningKey, chainId: number, from: string): void {
  if (chainId === devChainId || !isDevKey(key.address)) return
  throw new KeyProblem(
    `${from} is one of the dev chain's keys (${key.address}), which are public: it is refused on chain ${chainId}. Create a key of your own.`,
  )
}
