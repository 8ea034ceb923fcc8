import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { batchHeader, isBatchId } from '../../values/batch.ts'
import { permits, type Scope } from '../../values/scopes.ts'
import type { Auth, EndpointSpec } from '../contract/endpoint.ts'
import type { Actor, AdminToken, ApiKey, Credentials } from '../domain/access/credentials.ts'
import type { Asker } from '../domain/chain/recipients.ts'
import { DomainError } from '../domain/errors/errors.ts'
import type { WireWords } from './parse-input.ts'

export interface AuthDeps {
  credentials: Credentials
  wire: WireWords
}

export type Caller<A extends Auth> = A extends 'api-key'
  ? {
      actor: Actor
      teamId: number
      keyId: number
      scopes: readonly Scope[]
      keyTeam: () => number | undefined
    }
  : A extends 'admin'
    ? { actor: Actor; token: AdminToken; keyTeam: () => number | undefined }
    : A extends 'code'
      ? { actor: Actor; code: string; keyTeam: () => number | undefined }
      : { keyTeam: () => number | undefined }

export function isAnonymous({ caller }: FastifyRequest): boolean {
  return !caller || teamOf(caller) === null
}

/** null: a stranger; undefined: an admin token, which is for all teams. */
export function teamOf(caller: Caller<Auth>): number | null | undefined {
  if ('teamId' in caller) return caller.teamId
  if ('token' in caller) return undefined
  try {
    return caller.keyTeam() ?? null
  } catch {
    return null
  }
}

/** @throws DomainError with a 401 code, or scope_missing */
export function authenticate<S extends EndpointSpec>(
  deps: AuthDeps,
  spec: S,
  request: FastifyRequest,
): Caller<S['auth']> {
  const caller = callerOf(deps, spec, request)
  // The type is derived from the same `auth` as the switch.
  return caller as Caller<S['auth']>
}

function callerOf(deps: AuthDeps, spec: EndpointSpec, request: FastifyRequest): Caller<Auth> {
  const keyTeam = () => optionalApiKey(deps, request)?.teamId
  switch (spec.auth) {
    case 'api-key': {
      const key = optionalApiKey(deps, request)
      if (!key)
        throw new DomainError('api_key_missing', `Send your API key in the header ${deps.wire.apiKeyHeader}.`)
      assertScope(key, spec.scope, `The API key "${key.name}"`)
      return {
        actor: actorOf(`key:${key.name}`, request),
        teamId: key.teamId,
        keyId: key.id,
        scopes: key.scopes,
        keyTeam,
      }
    }
    case 'admin': {
      const token = deps.credentials.adminToken(bearer(request))
      assertScope(token, spec.scope, `The admin token "${token.name}"`)
      return { actor: actorOf(`admin:${token.name}`, request), token, keyTeam }
    }
    case 'code':
      return { actor: actorOf('code', request), code: codeOf(deps.wire, request), keyTeam }
    case 'none':
      return { keyTeam }
  }
}

/** @throws DomainError invalid_input */
function actorOf(name: string, { id, headers }: FastifyRequest): Actor {
  const batch = headers[batchHeader]
  if (batch === undefined) return { name, requestId: id }
  if (typeof batch === 'string' && isBatchId(batch)) return { name, requestId: id, batch }
  throw new DomainError(
    'invalid_input',
    `The header ${batchHeader} must be the id of a batch, such as b_1hq3v9k7s2m4xa.`,
  )
}

/** Returns the request's API key, or undefined if it has none. @throws DomainError if the key is invalid */
function optionalApiKey({ credentials, wire }: AuthDeps, request: FastifyRequest): ApiKey | undefined {
  const header = request.headers[wire.apiKeyHeader]
  return typeof header === 'string' && header !== '' ? credentials.apiKey(header) : undefined
}

/** The write that uses the code decides if it is valid. @throws DomainError otp_missing */
function codeOf(wire: WireWords, request: FastifyRequest): string {
  const header = request.headers[wire.codeHeader]
  if (typeof header === 'string' && header !== '') return header
  throw new DomainError(
    'otp_missing',
    `Send the code of a tap in the header ${wire.codeHeader}. Query the ref of a tap to get codes.`,
  )
}

const bearerOf = (request: FastifyRequest): string | undefined =>
  /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]

function bearer(request: FastifyRequest): string {
  const token = bearerOf(request)
  if (token === undefined) {
    throw new DomainError(
      'admin_token_missing',
      'Send an admin token in the header Authorization: Bearer <token>. The first one is in the file admin.token in the data directory.',
    )
  }
  return token
}

function assertScope(holder: { scopes: readonly Scope[] }, required: Scope, subject: string): void {
  if (permits(holder.scopes, required)) return
  throw new DomainError(
    'scope_missing',
    `${subject} lacks the scope "${required}". Use one that has it, or create one.`,
  )
}

export function validKey(deps: AuthDeps, request: FastifyRequest): number | undefined {
  const { caller } = request
  if (caller && 'keyId' in caller) return caller.keyId
  try {
    return optionalApiKey(deps, request)?.id
  } catch {
    return undefined
  }
}

export function validToken({ credentials }: AuthDeps, request: FastifyRequest): string | undefined {
  const { caller } = request
  if (caller && 'token' in caller) return caller.token.name
  const token = bearerOf(request)
  try {
    return token === undefined ? undefined : credentials.adminToken(token).name
  } catch {
    return undefined
  }
}

/** The client whose limit a name look-up on a keyless endpoint counts against. */
export function askerOf(deps: AuthDeps, request: FastifyRequest): Asker {
  try {
    const key = optionalApiKey(deps, request)
    if (key) return { team: key.teamId }
  } catch {}
  return { client: network(request.ip) }
}

/**
 * Identifies a stranger: the whole IPv4 address, or the first 64 bits of an IPv6 address, since one client can
 * choose the rest. A Unix socket has no address, and a proxy may pass on any text.
 */
export function network(ip = ''): string {
  const known = networks.get(ip)
  if (known !== undefined) return known
  if (networks.size >= maxNetworks) networks.clear()
  const found = networkOf(ip)
  networks.set(ip, found)
  return found
}

// Cached: several rules of a request need it, and parsing an IPv6 address takes 7 µs, a tenth of a used ref.
const networks = new Map<string, string>()
const maxNetworks = 1000

function networkOf(ip: string): string {
  const bare = ip.split('%')[0] ?? ''
  if (!ipaddr.isValid(bare)) return 'none'
  const address = ipaddr.process(bare)
  if (address.kind() === 'ipv4') return address.toString()
  return ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/64`).toString()
}
