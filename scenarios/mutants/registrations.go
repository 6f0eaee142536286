package mutants

// registrations is how drivers come to be known: who serves a name, who is told what, and when a driver is met again.
var registrations = []Mutant{
	{
		"false is told when a driver can't be reached", "S25", "engine.registry.missed",
		`if misnamed, ok := errors.AsType[errMisnamed](err); ok && s != d.by {
			r.refuse(s, s.info.Socket, misnamed, call)
		}`, "r.refuse(s, s.info.Socket, err, call)",
	},
	{
		"false is told when a plugin does not answer", "S25", "engine.registry.greet",
		`case err != nil:
			r.greetAgain(s, err)`,
		`case err != nil:
			r.refuse(s, info.Socket, err, call)
			r.greetAgain(s, err)`,
	},
	{
		"a registration ends with its connection", "L13", "engine.registry.peerLost",
		`DriverDisconnected{d.name, d.by.path})
		r.pursue(d)`,
		`DriverDisconnected{d.name, d.by.path})
		r.withdraw(d.by)`,
	},
	{
		"a lost connection is not made again", "L13, kubernetes#72500", "engine.registry.peerLost",
		`DriverDisconnected{d.name, d.by.path})
		r.pursue(d)`,
		`DriverDisconnected{d.name, d.by.path})`,
	},
	{
		"a second endpoint takes over at once", "S24", "engine.registry.meetFrom",
		"return max(s.due, d.silent.Add(SilentAfter)), d.silent != 0", "return s.due, !s.isMet",
	},
	{
		"a second endpoint never takes over", "L13", "engine.registry.meetFrom",
		"return max(s.due, d.since.Add(AwayAfter)), true", "return 0, false",
	},
	{
		"another process is not asked who it is", "L2", "engine.registry.interview",
		`err != nil || peer.Instance != "" && peer.Instance == known {`, `err != nil || known != "" {`,
	},
	{
		"a registrar that was refused is not asked again", "L13", "engine.registry.introduced",
		`r.refuse(s, info.Socket, err, call)
		r.greetAgain(s, err)
		return`,
		`r.refuse(s, info.Socket, err, call)
		return`,
	},
	{
		"a refusal is told to whoever is there", "S25", "engine.registry.refuse",
		"r.h.Registration.Notify(call, path, made, false, text)",
		`r.h.Registration.Notify(call, path, "", false, text)`,
	},
	{
		"who serves a driver is forgotten with the agent's life", "S24", "engine/core.Core.recallServer",
		"c.servers[rec.Rung.Actor] = FactOf(", "_ = FactOf(",
	},
	{
		"who served a driver is asked after an older one", "S24", "engine.driver.isBefore",
		"return b.id() != d.server && (a.id() == d.server || a.made < b.made)", "return a.made < b.made",
	},
	{
		"a meeting ends for a registration that has ended", "L15, L13", "engine.registry.meet",
		"case s.gen != gen || !s.still(info) ||", "case s.gen != gen ||",
	},
	{
		"who served a driver is never dropped", "S24", "engine/core.Core.serves",
		"if c.servers[e.Actor] == e.By {", `if c.servers[e.Actor] == e.By || e.By == "" {`,
	},
	{
		"a meeting that comes too late keeps its connection", "L1", "engine.registry.meet",
		`r.mayServe(d, s):
			r.h.Drivers.Disconnect(hal.Candidate(d.name))`,
		"r.mayServe(d, s):",
	},
	{
		"a meeting that fails keeps its connection", "L1", "engine.registry.meet",
		`case err != nil:
			r.h.Drivers.Disconnect(hal.Candidate(d.name))`,
		"case err != nil:",
	},
	{
		"a driver is met while it is being met", "L7", "engine.registry.pursue",
		"if d.isMeeting || r.stopping {", "if r.stopping {",
	},
	{
		"a driver that could not be reached is met again at once", "L7", "engine.registry.unreached",
		"d.by.due = max(d.by.due, d.since.Add(registerRetry))",
		"",
	},
	{
		"the wait before a driver is met again does not grow", "L7", "engine.registry.missed",
		`s.attempts++
		s.due =`,
		"s.due =",
	},
	{
		"the wait before a plugin is asked again does not grow", "L7", "engine.registry.greetAgain",
		`s.attempts++
		if r.failed(s, err) {`,
		`if r.failed(s, err) {`,
	},
	{
		"a registration that is taken is told once", "L6", "engine.registry.accept",
		`if err == nil {
			return
		}
		r.h.Runtime.At(`,
		`if err == nil || attempt == 0 {
			return
		}
		r.h.Runtime.At(`,
	},
	{
		"a registrar that has missed six words is given up", "L13", "engine.registry.accept",
		`if err == nil {
			return
		}
		r.h.Runtime.At(`,
		`if err == nil || attempt == 5 {
			return
		}
		r.h.Runtime.At(`,
	},
	{
		"the wait before a registrar is told again does not grow", "L7", "engine.registry.accept",
		`backoff(attempt, registerRetryMax)), func() {
			if s.gen == gen && !r.stopping {
				r.accept(`,
		`backoff(0, registerRetryMax)), func() {
			if s.gen == gen && !r.stopping {
				r.accept(`,
	},
	{
		"a registration that ends keeps its connection", "S24", "engine.registry.withdraw",
		"r.h.Drivers.Disconnect(d.name)",
		"",
	},
}
