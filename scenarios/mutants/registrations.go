package mutants

// registrations is how drivers come to be known: who serves a name, who is told what, and when a driver is met again.
var registrations = []Mutant{
	{
		"false is told when a driver can't be reached", "S25", "engine/meeting.go",
		"\tif misnamed, ok := errors.AsType[errMisnamed](err); ok && s != d.by {\n\t\tm.refuse(s, s.info.Socket, " +
			"misnamed, call)\n\t}\n", "\tm.refuse(s, s.info.Socket, err, call)\n",
	},
	{
		"false is told when a plugin does not answer", "S25", "engine/drivers.go",
		"\t\t\tcase err != nil:\n\t\t\t\tm.greetAgain(s, err)\n",
		"\t\t\tcase err != nil:\n\t\t\t\tm.refuse(s, info.Socket, err, call)\n\t\t\t\tm.greetAgain(s, err)\n",
	},
	{
		"a registration ends with its connection", "L13", "engine/meeting.go",
		"\"driver disconnected\", \"driver\", d.name, \"socket\", d.by.path)\n\tm.pursue(d)\n",
		"\"driver disconnected\", \"driver\", d.name, \"socket\", d.by.path)\n\tm.withdraw(d.by)\n",
	},
	{
		"a lost connection is not made again", "L13, kubernetes#72500", "engine/meeting.go",
		"\"driver disconnected\", \"driver\", d.name, \"socket\", d.by.path)\n\tm.pursue(d)\n",
		"\"driver disconnected\", \"driver\", d.name, \"socket\", d.by.path)\n",
	},
	{
		"a second endpoint takes over at once", "S24", "engine/meeting.go",
		"\t\treturn max(s.due, d.silent.Add(SilentAfter)), d.silent != 0\n", "\t\treturn s.due, !s.isMet\n",
	},
	{
		"a second endpoint never takes over", "L13", "engine/meeting.go",
		"\t\treturn max(s.due, d.since.Add(AwayAfter)), true\n", "\t\treturn 0, false\n",
	},
	{
		"another process is not asked who it is", "L2", "engine/meeting.go",
		"err != nil || peer.Instance != \"\" && peer.Instance == known {", "err != nil || known != \"\" {",
	},
	{
		"a registrar that was refused is not asked again", "L13", "engine/drivers.go",
		"\t\tm.refuse(s, info.Socket, err, call)\n\t\tm.greetAgain(s, err)\n\t\treturn\n",
		"\t\tm.refuse(s, info.Socket, err, call)\n\t\treturn\n",
	},
	{
		"a refusal is told to whoever is there", "S25", "engine/drivers.go",
		"m.h.Registration.Notify(call, path, made, false, text)",
		"m.h.Registration.Notify(call, path, \"\", false, text)",
	},
	{
		"who serves a driver is forgotten with the agent's life", "S24", "engine/core/serving.go",
		"\tc.servers[rec.Rung.Actor] = FactOf(", "\t_ = FactOf(",
	},
	{
		"who served a driver is asked after an older one", "S24", "engine/drivers.go",
		"return b.id() != d.server && (a.id() == d.server || a.made < b.made)", "return a.made < b.made",
	},
	{
		"a meeting ends for a registration that has ended", "L15, L13", "engine/meeting.go",
		"case s.gen != gen || !s.still(info) || ", "case s.gen != gen || ",
	},
	{
		"who served a driver is never dropped", "S24", "engine/core/serving.go",
		"if c.servers[e.Actor] == e.By {", "if c.servers[e.Actor] == e.By || e.By == \"\" {",
	},
	{
		"a meeting that comes too late keeps its connection", "L1", "engine/meeting.go",
		"m.mayServe(d, s):\n\t\t\t\tm.h.Drivers.Disconnect(hal.Candidate(d.name))\n",
		"m.mayServe(d, s):\n",
	},
	{
		"a meeting that fails keeps its connection", "L1", "engine/meeting.go",
		"\t\t\tcase err != nil:\n\t\t\t\tm.h.Drivers.Disconnect(hal.Candidate(d.name))\n",
		"\t\t\tcase err != nil:\n",
	},
	{
		"a driver is met while it is being met", "L7", "engine/meeting.go",
		"\tif d.isMeeting || m.stopping {\n", "\tif m.stopping {\n",
	},
	{
		"a driver that could not be reached is met again at once", "L7", "engine/meeting.go",
		"\td.by.due = max(d.by.due, d.since.Add(registerRetry))\n",
		"",
	},
	{
		"the wait before a driver is met again does not grow", "L7", "engine/meeting.go",
		"\ts.attempts++\n\ts.due = ",
		"\ts.due = ",
	},
	{
		"the wait before a plugin is asked again does not grow", "L7", "engine/drivers.go",
		"\ts.attempts++\n\tm.failed(s, \"registration failed\"",
		"\tm.failed(s, \"registration failed\"",
	},
	{
		"a registration that is taken is told once", "L6", "engine/drivers.go",
		"\t\tif err == nil {\n\t\t\treturn\n\t\t}\n\t\tm.h.Runtime.At(",
		"\t\tif err == nil || attempt == 0 {\n\t\t\treturn\n\t\t}\n\t\tm.h.Runtime.At(",
	},
	{
		"a registrar that has missed six words is given up", "L13", "engine/drivers.go",
		"\t\tif err == nil {\n\t\t\treturn\n\t\t}\n\t\tm.h.Runtime.At(",
		"\t\tif err == nil || attempt == 5 {\n\t\t\treturn\n\t\t}\n\t\tm.h.Runtime.At(",
	},
	{
		"the wait before a registrar is told again does not grow", "L7", "engine/drivers.go",
		"backoff(attempt, registerRetryMax)), func() {\n\t\t\tif s.gen == gen && !m.stopping {\n\t\t\t\tm.accept(",
		"backoff(0, registerRetryMax)), func() {\n\t\t\tif s.gen == gen && !m.stopping {\n\t\t\t\tm.accept(",
	},
	{
		"a registration that ends keeps its connection", "S24", "engine/drivers.go",
		"\t\tm.h.Drivers.Disconnect(d.name)\n",
		"",
	},
}
