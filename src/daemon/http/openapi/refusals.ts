import type { EndpointSpec } from '../../contract/endpoint.ts'
import type { EndpointKey } from '../../contract/index.ts'
import type { ErrorCode } from '../../domain/errors/errors.ts'

// For the OpenAPI document. tests/support/documented-refusals.ts fails a test that is refused in another way.

const key: readonly ErrorCode[] = ['api_key_unknown', 'api_key_expired', 'api_key_revoked']
const chain: readonly ErrorCode[] = ['chain_unavailable', 'chain_not_configured']
const recipient: readonly ErrorCode[] = ['recipient_invalid', ...chain]
const transaction: readonly ErrorCode[] = [
  ...recipient,
  'conflict',
  'simulation_reverted',
  'transaction_refused',
  'transaction_budget_spent',
]
const secondTap: readonly ErrorCode[] = [
  'registration_missing',
  'registration_early',
  'registration_expired',
  'registration_same_tap',
]

const ofBatches = (root: '/batches' | '/admin/batches') =>
  ({
    [`POST ${root}`]: ['batch_name_taken', 'team_required'],
    [`GET ${root}/:id`]: ['conflict'],
    [`DELETE ${root}/:id`]: ['batch_running', 'conflict'],
    [`POST ${root}/:id/rows`]: ['conflict'],
    [`POST ${root}/:id/files/:hash`]: ['conflict'],
    [`POST ${root}/:id/plan`]: ['conflict', 'chain_unavailable'],
    [`POST ${root}/:id/start`]: ['conflict'],
    [`POST ${root}/:id/approve`]: ['own_batch', 'conflict'],
    [`POST ${root}/:id/pause`]: ['conflict'],
    [`POST ${root}/:id/resume`]: ['conflict'],
    [`POST ${root}/:id/cancel`]: ['batch_running', 'conflict'],
    [`POST ${root}/:id/undo`]: ['conflict'],
    [`GET ${root}/:id/follow`]: ['conflict'],
    [`GET ${root}/:id/report`]: ['conflict'],
  }) as const

/** Refusals beyond those implied by an endpoint's authentication and input. */
const codesOfEndpoint: Partial<Record<EndpointKey, readonly ErrorCode[]>> = {
  'GET /chips/find': ['tap_malformed'],
  'PATCH /chips/self-service': ['signature_invalid', 'signature_expired', 'signature_used', ...chain],
  'GET /refs/:id': chain,
  'POST /phygitals/transfer': [...transaction, 'token_taken'],
  'POST /phygitals/transfer/pullable': [...transaction, 'token_taken', ...secondTap],
  'POST /phygitals/transfer/self-service': [...transaction, 'token_taken'],
  'GET /phygitals/transfer-signature': [...recipient, 'conflict', 'simulation_reverted'],
  'GET /phygitals/transfer-signature/pullable': [
    ...recipient,
    'conflict',
    'simulation_reverted',
    'token_taken',
    ...secondTap,
  ],
  'GET /phygitals/claim-registration': recipient,
  'POST /phygitals/claim-registration': [...recipient, 'conflict'],
  'POST /phygitals/claim-registration/pullable': [...recipient, 'conflict', 'token_taken'],
  'DELETE /phygitals/claim-registration': recipient,
  'POST /phygitals/transfer/check': chain,
  'PATCH /phygitals/metadata': ['chain_unavailable'],
  'POST /phygitals/metadata/batch': chain,
  'PATCH /events/metadata': ['chain_unavailable'],
  'POST /events/contracts': [...transaction, 'already_exists'],
  'POST /events': [...transaction, 'already_exists'],
  'POST /events/mint': transaction,
  'POST /events/mint/self': transaction,
  'POST /events/toggle-pause-state': transaction,
  'POST /badge-events': ['conflict', 'badge_refused', 'badge_unavailable'],
  'POST /badge-events/mint': [
    'conflict',
    'badge_not_active',
    'badge_codes_gone',
    'badge_device_used',
    'badge_refused',
    'badge_unavailable',
    ...recipient,
  ],
  ...ofBatches('/batches'),
  ...ofBatches('/admin/batches'),
  'POST /admin/backup': ['conflict'],
}

const ofAuth: Record<EndpointSpec['auth'], readonly ErrorCode[]> = {
  none: [],
  'api-key': ['api_key_missing', ...key, 'scope_missing'],
  code: [
    'otp_missing',
    'otp_unknown',
    'otp_deleted',
    'otp_used',
    'otp_expired',
    'otp_unsupported',
    'claim_kept',
  ],
  admin: [
    'admin_token_missing',
    'admin_token_unknown',
    'admin_token_expired',
    'admin_token_revoked',
    ...key,
    'scope_missing',
    'forwarded_refused',
  ],
}

/** The codes of the errors that an endpoint can answer with. */
export function refusalsOf(name: string, spec: EndpointSpec): ErrorCode[] {
  return [
    ...new Set<ErrorCode>([
      'invalid_input',
      ...(spec.namesFields ? (['invalid_metadata'] as const) : []),
      ...ofAuth[spec.auth],
      ...(spec.keyIsOptional ? key : []),
      'not_found',
      // Any request may have a body.
      'too_large',
      'unsupported_media_type',
      ...(spec.isRepeatable ? (['idempotency_conflict'] as const) : []),
      ...(isKnown(name) ? (codesOfEndpoint[name] ?? []) : []),
      'too_slow',
      'rate_limited',
      'store_unavailable',
      'store_full',
      'outcome_unknown',
    ]),
  ]
}

const isKnown = (name: string): name is keyof typeof codesOfEndpoint => Object.hasOwn(codesOfEndpoint, name)
