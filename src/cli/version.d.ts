declare const __TAPCHIP_VERSION__: string
/** Set by the build, empty without git; not defined in tests. */
declare const __TAPCHIP_COMMIT__: string | undefined
