import { BackgroundLoop } from '../../../values/background-loop.ts'

interface Options<F> {
  run: (followers: ReadonlySet<F>) => Promise<void>
  everyMs: number
}

/** One loop for all that follow, which runs for as long as anybody does. */
export class FollowedLoop<F> {
  readonly #begin: () => Options<F>
  /** Of the loop: one that still ends tells later followers nothing. */
  #followers = new Set<F>()
  #loop: BackgroundLoop | undefined

  /** @param begin called for each loop: what it remembers is its own */
  constructor(begin: () => Options<F>) {
    this.#begin = begin
  }

  get followers(): ReadonlySet<F> {
    return this.#followers
  }

  /** @returns a function that unsubscribes */
  follow(follower: F): () => void {
    const followers = this.#followers.add(follower)
    this.#loop ??= this.#start(followers)
    this.#loop.wake()
    return () => {
      followers.delete(follower)
      if (followers.size > 0 || followers !== this.#followers) return
      void this.#loop?.stop()
      this.#loop = undefined
      this.#followers = new Set()
    }
  }

  #start(followers: ReadonlySet<F>): BackgroundLoop {
    const { run, everyMs } = this.#begin()
    const loop = new BackgroundLoop({
      run: () => run(followers),
      restMs: () => everyMs,
      // The next look reads what this one could not.
      failed: () => undefined,
    })
    loop.start()
    return loop
  }
}
