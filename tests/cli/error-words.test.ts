import { describe, expect, test } from 'vitest'
import { ApiError, DaemonUnreachable } from '../../src/cli/client/errors.ts'
import { sendOnce } from '../../src/cli/commands/sending.ts'
import { describeError, withTrailingAdvice } from '../../src/cli/errors.ts'

const refusal = (statusCode: number, code: string, message: string) =>
  new ApiError({ statusCode, code, message, requestId: 'r1', retryAfter: undefined })
const words = (error: unknown) => describeError(error).lines.join('\n')

describe('what the daemon refuses is said in words of the command line', () => {
  test('a missing registration by the command that makes one', () => {
    const said = words(
      refusal(
        409,
        'registration_missing',
        'This token asks for two taps: register bob.eth with this code first (POST /phygitals/claim-registration/pullable), then tap again.',
      ),
    )
    expect(said).toContain('with this code first, then tap again.')
    expect(said).toContain('tapchip phygitals claim-registration create --code CODE --recipient WHO')
    expect(said).not.toContain('POST')
  })

  test.each(['otp_used', 'otp_unknown', 'signature_invalid'])('%s has nothing to do with our key', (code) => {
    expect(words(refusal(401, code, 'No.'))).toBe('No.')
    expect(words(refusal(401, 'api_key_unknown', 'No.'))).toContain('Save a key: tapchip login')
  })
})

test('when the budget of a day is back is said once', () => {
  const spent = { statusCode: 429, code: 'transaction_budget_spent', requestId: 'r1', retryAfter: 43_096 }
  const message = 'Nothing was used up: try again after 00:00 UTC.'
  expect(words(new ApiError({ ...spent, message }))).toBe(message)
  expect(words(new ApiError({ ...spent, message: 'No.', code: 'rate_limited' }))).toBe(
    'No.\nTry again in 43096 s',
  )
})

test('where a batch stands follows what to do about the daemon', () => {
  const error = new DaemonUnreachable(
    { url: new URL('http://127.0.0.1:1') },
    'the connection was closed',
    undefined,
  )
  const stopped = withTrailingAdvice(error, 'Stopped after 3 of 5 rows. Continue: tapchip batch resume b_1')
  expect(describeError(stopped).lines).toEqual([
    'Daemon not reachable at 127.0.0.1:1 (the connection was closed). Start it: tapchip daemon start',
    'Stopped after 3 of 5 rows. Continue: tapchip batch resume b_1',
  ])
})

describe('running it again under its key', () => {
  const sent = async (error: Error) =>
    words(await sendOnce(undefined, () => Promise.reject(error)).catch((thrown: unknown) => thrown)).split(
      '\n',
    )

  test('is the last that is said, where something may have been recorded', async () => {
    const lines = await sent(refusal(500, 'internal', 'Something broke.'))
    expect(lines).toEqual([
      'Something broke.',
      'Request id: r1',
      expect.stringMatching(/^Run it again with --idempotency-key /),
    ])
    const waits = refusal(503, 'chain_unavailable', 'Transaction 3 is recorded and waits for its turn.')
    expect((await sent(waits)).at(-1)).toMatch(/^Run it again/)
  })

  test.each([
    refusal(503, 'chain_unavailable', 'Chain 1 does not answer. Nothing was used up; try again.'),
    refusal(503, 'chain_not_configured', 'There is no chain 5.'),
    refusal(400, 'recipient_invalid', 'recipient: no.'),
  ])('is not said of $code', async (error) => {
    expect((await sent(error)).join()).not.toContain('Run it again')
  })
})
