/** The header by which the CLI tells with each request of a batch which one it belongs to. */
export const batchHeader = 'tapchip-batch'

export const isBatchId = (text: string): boolean => /^b_[0-9a-z]{14}$/.test(text)
