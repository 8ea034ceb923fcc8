import { RpcRequestError } from 'viem'
import { describe, expect, test } from 'vitest'
import { answerOf } from '../../src/daemon/chain/relayer/send-outcome.ts'

const said = (message: string) =>
  answerOf(new RpcRequestError({ body: {}, error: { code: -32000, message }, url: 'http://node' }))

describe('a node that', () => {
  test.each([
    'already known',
    'ALREADY_EXISTS: already known',
    'AlreadyKnown',
    'known transaction. transaction with hash 0x12 is already in the system',
    'tx already exists in cache',
    'transaction already in mempool',
    'Transaction with the same hash was already imported.',
    'existing tx with same hash',
    'transaction already imported',
  ])('has it says so: %s', (words) => {
    expect(said(words).outcome).toBe('taken')
  })

  test.each([
    ['transaction gas price below minimum: gas tip cap 1, minimum needed 25000000000', 25_000_000_000n],
    ['transaction underpriced: gas tip cap 1, minimum needed 1000000', 1_000_000n],
    ['transaction underpriced: tip needed 25000000000, tip permitted 1000000000', 25_000_000_000n],
    ['max priority fee per gas too low', undefined],
    ['FeeTooLow', undefined],
    ['FeeTooLow, EffectivePriorityFeePerGas too low 0 < 1, BaseFee: 7', undefined],
    ['transaction underpriced', undefined],
    ['tip too low', undefined],
    ['gas price too low', undefined],
    ['Gas price below configured minimum gas price', undefined],
  ])('wants a higher tip names it where it can: %s', (words, minTip) => {
    expect(said(words)).toMatchObject({ outcome: 'tip-too-low', ...(minTip && { minTip }) })
    expect(said(words).minTip).toBe(minTip)
  })

  test.each([
    ['priority fee is lower than the minimum (25 gwei)', 'tip-too-low'],
    ['gas tip cap 1000000000 < minimum 25000000000', 'tip-too-low'],
    ['insufficient fees; got: 1 required: 2', 'tip-too-low'],
    ['tx fee (1.50 ether) exceeds the configured cap (1.00 ether)', 'impossible'],
    ['replacement transaction underpriced', 'underpriced'],
    ['ReplacementNotAllowed', 'underpriced'],
    ['nonce too high. allowed nonce range: 10 - 60, actual: 100', 'nonce-too-high'],
    ['Nonce too high', 'nonce-too-high'],
    ['NonceGap', 'nonce-too-high'],
    ['nonce too low: next nonce 5, tx nonce 3', 'nonce-used'],
    ['OldNonce', 'nonce-used'],
    ['max fee per gas less than block base fee: address 0x1, maxFeePerGas: 1, baseFee: 7', 'below-base-fee'],
    ['FeeTooLow, MaxFeePerGas too low. MaxFeePerGas: 1, BaseFee: 7', 'below-base-fee'],
    ['insufficient funds for gas * price + value: balance 0', 'no-funds'],
    ['intrinsic gas too low: gas 21000, minimum needed 83000', 'impossible'],
    ['transaction type not supported', 'legacy-only'],
    ['invalid transaction type', 'legacy-only'],
    ['exceeds block gas limit', 'impossible'],
    ['max priority fee per gas higher than max fee per gas', 'impossible'],
    ['txpool is full', 'refused'],
    // The URL may lead elsewhere for a moment, which is no reason to give anything up.
    ['invalid chain id for signer: have 1 want 7', 'refused'],
    ['invalid sender', 'refused'],
    ['some other words', 'refused'],
  ])('answers "%s" means %s', (words, outcome) => {
    expect(said(words).outcome).toBe(outcome)
  })
})

test('what is no answer of the node says nothing of the transaction', () => {
  expect(answerOf(new Error('nonce too low'))).toEqual({ outcome: 'unknown', words: 'nonce too low' })
})
