import { setTimeout as wait } from 'node:timers/promises'
import { type Hex, type PublicClient, type TransactionReceipt, TransactionReceiptNotFoundError } from 'viem'

/**
 * Waits for a transaction's receipt. viem's own way asks again with the next block, and a chain that makes blocks for
 * transactions alone may never make one.
 */
export async function minedReceipt(
  client: Pick<PublicClient, 'getTransactionReceipt'>,
  hash: Hex,
): Promise<TransactionReceipt> {
  for (;;) {
    try {
      return await client.getTransactionReceipt({ hash })
    } catch (error) {
      if (!(error instanceof TransactionReceiptNotFoundError)) throw error
      await wait(5)
    }
  }
}
