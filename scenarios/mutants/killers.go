package mutants

// killers is seeds that are known to kill mutants which the catalogue does not. One that has gone stale costs a hunt, and nothing else.
var killers = map[string]uint64{}

// equivalent is the mutants that nothing can kill, and the proof of it. There are at most two.
var equivalent = map[string]string{}
