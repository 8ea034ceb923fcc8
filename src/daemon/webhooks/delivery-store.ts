import type { Found, Job, Target } from './lane.ts'
import type { Result } from './try.ts'

export interface Claimed extends Found {
  webhookId: number
}

/** Claims are held in the name of this process. */
export interface DeliveryStore {
  /** Webhooks that are enabled. */
  targets(): Promise<readonly Target[]>
  /** What the process that delivered before had claimed is free again. */
  releaseAll(): Promise<unknown>
  /** Webhooks that something waits for, by ID. */
  withWork(): Promise<readonly number[]>
  /** Records results and claims messages, in one write. */
  exchange(
    results: readonly Result[],
    wanted: readonly { webhookId: number; limit: number }[],
  ): Promise<Claimed[]>
  release(jobs: readonly Job[]): Promise<unknown>
  claimed(id: number): Promise<Job | undefined>
  /** Unless its URL is another one by now. */
  disable(target: Target, reason: string): Promise<unknown>
  /** After the clock was set back: what was to be tried later is due. */
  hasten(): Promise<unknown>
  /** Deletes old deliveries, and disables the webhook if too many wait. @returns whether it did */
  tidy(webhookId: number, isBehind: boolean): Promise<boolean>
}
