// Package hang has the tests of calls that hang in the kernel, where no signal ends them: they run in helper children,
// and neither the agent nor the next one waits for them.
package hang
