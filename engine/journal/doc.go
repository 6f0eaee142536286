// Package journal keeps what the agent may have done to this node: one [core.Record] for each rung, durable where a
// line asks for it.
//
// # Files
//
// The journal's directory (mode 0700) holds one generation, journal.<n>, and journal.spare, both of mode 0600 and
// allocated to a fixed size beforehand, so that a teardown never needs space. Lines are appended to the generation.
// When it is full, when it can't be trusted any more, and at every start, all live records are written to the spare,
// which is synced, renamed to journal.<n+1>, and its directory synced; the old generation goes, and another spare is
// made. So one run of the agent never appends to what another run left. A generation in which a start found damage
// is kept as journal.damaged, for people; so is one that a start finds replaced, and damaged, which is so if the start
// before died in between. Names that are none of these are left alone.
//
// # Format
//
// A generation is a header and frames, little endian, frames aligned to eight bytes, zeros after the last:
//
//	header  magic 8 · version 4 · zero 4 · generation 8 · boot 8 · size 8 · zero 20 · crc32c 4
//	frame   magic 4 · crc32c 4 · length 4 · kind 4 · seq 8 · synced 8 · payload · zeros · trailer 4
//
// Magic, version and checksum of the header are at these places in every version. A frame's checksum covers all
// that follows it and the generation, so a frame means nothing in another file. One frame holds one record of the
// snapshot, or the end of the snapshot, or all lines of one batch: a batch is whole or not there. seq numbers the
// batches of a generation; synced is the last of them that was durable when the frame was written.
//
// # What a reader makes of damage
//
// Bytes that are no frame lose what was there. They are damage if a batch that was durable is missing: something
// of the snapshot, or a batch that a later frame calls synced; if frames follow them and no power was cut since the
// generation was begun, as the boot is the same; and if the file is shorter than its header says. Else they are what a
// power cut leaves, if the write is seen to be incomplete: its end or a sector of it was never written. Dropping that
// is right: no operation starts before its batch is acknowledged. Frames behind damage are used, since a line replaces
// the whole record of its key. A record of which a later line may be lost is in doubt. Its doubt is written with the
// generation that the start begins, since the next start reads that one and sees no damage.
//
// # Failure
//
// After a write or a sync has failed, the generation is not written again: a later sync that succeeds would prove
// nothing (after the first, the kernel has dropped the pages). The next batch writes all records to another file
// first, the lines of the failed batch among them.
//
// Records hold no secrets: parameters and facts carry references and digests.
package journal
