import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { batchHeader, isBatchId } from '../../values/batch.ts'
import { permits } from '../../values/scopes.ts'
import type { Auth, EndpointSpec } from '../contract/endpoint.ts'
import type { Actor, Credential, CredentialKind, Credentials } from '../domain/access/credentials.ts'
import { assertForAllTeams, lacking } from '../domain/access/grants.ts'
import type { Asker } from '../domain/chain/recipients.ts'
import { DomainError } from '../domain/errors/errors.ts'
import type { WireWords } from './parse-input.ts'

export interface AuthDeps {
  credentials: Credentials
  wire: WireWords
}

interface Holder<Team> {
  actor: Actor
  holder: Credential
  /** The only team for which the caller may act; null: all teams. */
  teamId: Team
  /** That team, else the one of the API key beside an admin token: what concerns one team concerns this one. */
  keyTeam: () => number | undefined
}

export type Caller<A extends Auth> = A extends 'api-key'
  ? Holder<number>
  : A extends 'admin'
    ? Holder<number | null>
    : A extends 'code'
      ? { actor: Actor; code: string; keyTeam: () => number | undefined }
      : { keyTeam: () => number | undefined }

export function isAnonymous({ caller }: FastifyRequest): boolean {
  return !caller || teamOf(caller) === null
}

/** null: a stranger; undefined: a credential for all teams. */
export function teamOf(caller: Caller<Auth>): number | null | undefined {
  if ('holder' in caller) return caller.teamId ?? undefined
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
  const keyTeam = () => {
    const key = optionalApiKey(deps, request)
    if (key) deps.credentials.uses.note(key, request.ip, request.headers['user-agent'])
    return key?.teamId ?? undefined
  }
  switch (spec.auth) {
    case 'api-key': {
      const holder = optionalApiKey(deps, request)
      if (!holder)
        throw new DomainError('api_key_missing', `Send your API key in the header ${deps.wire.apiKeyHeader}.`)
      return held(deps, holder, { spec, request, keyTeam })
    }
    case 'admin': {
      const holder = adminToken(deps, request) ?? optionalApiKey(deps, request)
      if (!holder)
        throw new DomainError(
          'admin_token_missing',
          `Send an API key of your team in the header ${deps.wire.apiKeyHeader}, or an admin token in the header Authorization: Bearer <token>. Ask someone who has the scope "keys" for one.`,
        )
      return held(deps, holder, { spec, request, keyTeam })
    }
    case 'code':
      return { actor: actorOf('code', request), code: codeOf(deps.wire, request), keyTeam }
    case 'none':
      return { keyTeam }
  }
}

/** @throws DomainError scope_missing */
function held(
  { credentials }: AuthDeps,
  holder: Credential,
  {
    spec,
    request,
    keyTeam,
  }: { spec: EndpointSpec; request: FastifyRequest; keyTeam: () => number | undefined },
): Caller<'admin'> {
  const { kind, name, teamId, scopes } = holder
  credentials.uses.note(holder, request.ip, request.headers['user-agent'])
  if (spec.isForAllTeams) assertForAllTeams(holder, spec.scope)
  if (!permits(scopes, spec.scope)) throw lacking(holder, [spec.scope])
  const named = actorOf(`${kind === 'apiKeys' ? 'key' : 'admin'}:${name}`, request)
  const actor = teamId === null ? named : { ...named, ofTeam: teamId }
  if (teamId === null) return { actor, holder, teamId, keyTeam }
  const other = kind === 'adminTokens' ? keyTeam() : undefined
  if (other !== undefined && other !== teamId)
    throw new DomainError(
      'scope_missing',
      `The admin token "${name}" and the API key that was sent beside it are for different teams. Send one of them.`,
    )
  return { actor, holder, teamId, keyTeam: () => teamId }
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
function optionalApiKey({ credentials, wire }: AuthDeps, request: FastifyRequest): Credential | undefined {
  const header = request.headers[wire.apiKeyHeader]
  return typeof header === 'string' && header !== '' ? credentials.find('apiKeys', header) : undefined
}

/** Returns the request's admin token, or undefined if it has none. @throws DomainError if the token is invalid */
function adminToken({ credentials }: AuthDeps, { headers }: FastifyRequest): Credential | undefined {
  const token = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
  return token === undefined ? undefined : credentials.find('adminTokens', token)
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

/** The request's valid credential of this kind, whether the endpoint needs it or not. */
export function validCredential(
  deps: AuthDeps,
  request: FastifyRequest,
  kind: CredentialKind,
): Credential | undefined {
  const { caller } = request
  if (caller && 'holder' in caller && caller.holder.kind === kind) return caller.holder
  try {
    return kind === 'apiKeys' ? optionalApiKey(deps, request) : adminToken(deps, request)
  } catch {
    return undefined
  }
}

/** The client whose limit a name look-up on a keyless endpoint counts against. */
export function askerOf(deps: AuthDeps, request: FastifyRequest): Asker {
  try {
    const key = optionalApiKey(deps, request)
    if (key && key.teamId !== null) return { team: key.teamId }
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
