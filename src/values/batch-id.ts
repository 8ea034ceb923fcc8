/** The header by which the CLI tells with each request of a batch which one it belongs to. */
export const batchHeader = 'tapchip-batch'

/** How often the batch had begun when this process began: one that was replaced is refused. */
export const leaseHeader = 'tapchip-batch-lease'

export const isBatchId = (text: string): boolean => /^b_[0-9a-z]{14}$/.test(text)
