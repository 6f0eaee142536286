package sim

import (
	"slices"
	"strings"

	"github.com/volnode/volnode/hal"
)

// Injected is one fault as it is injected.
type Injected struct {
	Site   string  // of the choice: "csi.stage/fault"
	Object string  // on what
	Key    hal.Key // the rung that the call is for; "" for none
	Fault  Fault
}

// Menu is a kind of choice: what can go wrong at the sites that have it. The menus are the class table: what is on none
// of a site's is not injected there.
type Menu struct {
	Name   string // for people: "RPC with effects"
	Faults []Fault
}

// Site is one place of the model at which a fault can be injected: a method of the host, or something that happens in
// the world.
type Site struct {
	Name   string // as a trace and a scenario name it: "csi.stage"
	IsCall bool
	Class  hal.Class // of a call
	Writes bool      // a call that changes something
	Menus  []Menu    // what is drawn from, one after the other
}

// Faults returns what can be met at the site.
func (s Site) Faults() []Fault {
	var all []Fault
	for _, m := range s.Menus {
		for _, f := range m.Faults {
			if !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	return all
}

// SiteOf returns the name of the site of a choice: "csi.stage" for "csi.stage/fault".
func SiteOf(choice string) string {
	name, _, _ := strings.Cut(choice, "/")
	return name
}

// Sites returns all places at which faults can be injected, calls first, in a fixed order.
func Sites() []Site {
	all := Everything()
	m := all.menus()
	named := func(name string, from *menu) Menu { return Menu{name, from.faults[1:]} }
	death := named("death of the agent or the node", &m.crash)
	deathAtRead := named("death of the agent or the node, at a call that only reads", &m.crashIdle)
	read, file, fsync := named("reading, or removing", &m.read), named("file", &m.file), named("fsync", &m.fsync)
	mount, netMount := named("mount", &m.mount), named("mount of a network filesystem", &m.netMount)
	helper, ask, effects := named("helper process", &m.helper), named("RPC without effects", &m.ask),
		named("RPC with effects", &m.rpc)
	var sites []Site
	add := func(menu Menu, calls ...*callSite) {
		for _, k := range calls {
			s := Site{Name: k.name, IsCall: true, Class: k.class, Writes: k.writes, Menus: []Menu{menu, deathAtRead}}
			if k.writes {
				s.Menus[1] = death
			}
			sites = append(sites, s)
		}
	}
	add(effects, callStage, callUnstage, callPublish, callUnpublish, callCreate, callDelete, callControllerPublish,
		callControllerUnpublish)
	add(ask, callInfo, callNotify, callPluginInfo, callPluginCaps, callProbe, callNodeInfo, callNodeCaps, callStats,
		callHealth, callStorage, callControllerCaps)
	add(read, callConnect, callSecret, callConfigMap, callBundle, callPod, callToken)
	add(read, callTable, callAt, callWithin, callLiving, callRead, callReadAt,
		callReadlink, callSessions, callRecords, callDisks, callNamed, callFCHosts, callFCPorts, callHolds, callMaps)
	add(read, callRemove, callRemoveTree, callList, callStat, callCached, callIdentify, callQuota)
	add(mount, callMount, callBind, callUnmount)
	for i := range sites {
		if sites[i].Name == callMount.name {
			sites[i].Menus = append(sites[i].Menus, netMount)
		}
	}
	add(file, callWrite, callWriteAt, callAllocate, callMkdir, callRename, callSymlink, callChown, callChmod,
		callLimit, callLift)
	add(fsync, callSync)
	add(named("write of the log", &m.log), callLog)
	add(helper, callFind, callMake, callUnpack, callClone, callUsage, callCount, callProbeDevice, callFormat, callCheck,
		callFlexInit,
		callFlexMount, callFlexUnmount, callLogin, callLogout, callScan, callRemoveDisk, callHold, callRelease,
		callAssemble, callRemoveMap, callResize, callFailQueued)
	for _, e := range eventSites() {
		sites = append(sites, Site{Name: e.at.name, Menus: []Menu{{"event of the world", e.faults}}})
	}
	return sites
}

// eventSite is a place where the world does something of its own accord.
type eventSite struct {
	at     *site
	faults []Fault
}

func eventSites() []eventSite {
	return []eventSite{
		{siteLives, []Fault{ChildLives}},
		{siteGone, []Fault{NoticeLate, NoticeDoubled}},
		{siteManifest, []Fault{ManifestTorn}},
		{siteSynced, []Fault{SyncedLate}},
		{siteObject, []Fault{ObjectLate, ObjectStale, ObjectRepeated, ObjectMerged, ObjectCrossed}},
		{siteWatch, []Fault{WatchBreaks}},
		{siteKind, []Fault{KindFails}},
		{siteList, []Fault{ListEmpty}},
		{sitePersonality, []Fault{
			DriverNasty, DriverQueues, DriverActsBehind, DriverCrashes, DriverDaemon,
			DriverQuotes, DriverActsUntold,
		}},
		{siteLost, []Fault{SocketLost}},
		{siteUpgrade, []Fault{DriverUpgraded}},
		{siteReplace, []Fault{DriverReplaced}},
		{siteVersion, []Fault{DriverNasty}},
		{siteNamespace, []Fault{DriverHides}},
		{siteRegister, []Fault{RegistersLate}},
		{siteAgain, []Fault{RegistersTwice}},
		{siteRegistrar, []Fault{RegistrarLives}},
		{siteMisregister, []Fault{Misregisters}},
		{siteBackoff, []Fault{RegistrarLost}},
		{siteRival, []Fault{DriverRival}},
		{siteShared, []Fault{SocketShared}},
		{siteSocketStays, []Fault{StaleSocket}},
		{siteHolder, []Fault{HeldOpen}},
		{siteVanish, []Fault{ForeignUnmount}},
		{siteCover, []Fault{ForeignMount}},
		{siteAtBoot, []Fault{ForeignMount}},
		{siteServer, []Fault{ServerSilent}},
		{siteExport, []Fault{ServerStale}},
		{siteFailing, []Fault{DiskFails}},
		{siteDamaged, []Fault{DiskDamaged}},
		{siteWorn, []Fault{DiskDamaged}},
		{sitePortal, []Fault{PortalDown}},
		{siteFCPort, []Fault{PortalDown}},
		{siteFound, []Fault{DiskLate}},
		{siteDaemon, []Fault{ChildLives}},
		{siteMap, []Fault{MapLate}},
		{siteRemade, []Fault{MapRemade}},
		{siteMultipathd, []Fault{MultipathdDown}},
		{siteFlexMounts, []Fault{DriverLies, MountsElsewhere, DriverGarbles}},
		{siteFlexUnmounts, []Fault{DriverLies, DriverGarbles}},
		{siteOrphan, []Fault{OrphanActs}},
		{siteUnseen, []Fault{GoneUnseen, NoticeLate, NoticeDoubled}},
		{siteLoss, []Fault{GoneUnseen}},
		{siteLate, []Fault{LateDropped}},
		{siteTimedOut, []Fault{Pause}},
		{sitePause, []Fault{Pause}},
		{siteStall, []Fault{Stall}},
		{siteChange, []Fault{LostWrite}},
		{siteSector, []Fault{LostWrite}},
		{siteTable, []Fault{NoticeLate, NoticeDoubled}},
		{siteTablePaths, []Fault{NoticeVague}},
		{siteDirectory, []Fault{NoticeLate, NoticeDoubled}},
		{siteDirectoryNames, []Fault{NoticeVague}},
		{siteSockets, []Fault{NoticeLate, NoticeDoubled}},
		{sitePath, []Fault{NoticeLate, NoticeDoubled}},
	}
}
