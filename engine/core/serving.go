package core

import "github.com/volnode/volnode/hal"

// KindServes is the kind of the record that names who serves an actor while somebody waits who would come first at a
// start. No rung has it.
const KindServes Kind = "serves"

const factServer = "server"

func servesKey(actor string) hal.Key { return hal.Key(string(KindServes) + "/" + actor) }

// serves notes who serves an actor, so that the next run has the same one serve.
func (c *Core) serves(e Serves) {
	if c.servers[e.Actor] == e.By {
		return
	}
	line := Line{Key: servesKey(e.Actor), Drop: e.By == ""}
	if delete(c.servers, e.Actor); !line.Drop {
		c.servers[e.Actor] = e.By
		// A journal refuses no record of that phase for lack of room.
		line.Record = Record{
			Rung: Rung{Key: line.Key, Kind: KindServes, Actor: e.Actor}, Phase: Leaving, Boot: c.boot,
			Facts: []Fact{{Name: factServer, Value: e.By}},
		}
		line.Sync = true
	}
	c.batch.Lines = append(c.batch.Lines, line)
}

// recallServer takes in who served an actor. What another boot had serve is no more.
func (c *Core) recallServer(rec Record) {
	if rec.Boot != c.boot {
		c.batch.Lines = append(c.batch.Lines, Line{Key: rec.Rung.Key, Drop: true})
		return
	}
	c.servers[rec.Rung.Actor] = FactOf(rec.Facts, factServer)
}

// Server returns who serves an actor while somebody waits who would come first at a start, "" if nobody does.
func (c *Core) Server(actor string) string { return c.servers[actor] }
