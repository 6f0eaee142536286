package mutants

// killers is seeds that are known to kill mutants which a hunt finds late. One that has gone stale costs a hunt, and nothing else.
var killers = map[string]uint64{}

// equivalent is the mutants that nothing can kill, and the proof of it.
var equivalent = map[string]string{}
