package engine

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/kinds"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/scrub"
)

// This file is where what drivers say comes into the engine: nothing else of it sees a driver's own text.

// ears hear what drivers say, without the secrets in it. They are used by many tasks.
type ears struct {
	runtime hal.Runtime     // for the time
	cluster hal.Cluster     // for secrets
	said    *scrub.Scrubber // the secrets that were sent to drivers
	sources kinds.Table     // for tokens that are sent to drivers
}

// secretTimeout bounds the reading of the secrets that a driver may have quoted.
const secretTimeout = 10 * time.Second

// heard is a driver's error without secrets. A driver may quote one that it was given in an earlier call, of another
// volume, or in an earlier life of the agent: so those of the volume are read now, and all that were not read in this
// life. If one can't be read, or is of an object that no source has named yet, it can't be searched for: then the
// message goes.
//
// The words say whether the call has ended. So they are judged as the driver has said them, and what is withheld is no
// proof of an end.
func (e ears) heard(c hal.Call, driver string, volume []string, err error) error {
	failure, ok := errors.AsType[*hal.Error](err)
	if !ok || failure.Detail == "" {
		return err
	}
	said := *failure
	said.Doubtful = plugin.Doubtful(failure.Detail)
	if failure.Reply == hal.ReplyStatus {
		if why, isGone := e.withholds(c, driver, volume); why != "" {
			said.Detail, said.Doubtful = why, said.Doubtful || !isGone
			return &said
		}
	}
	said.Detail = strings.TrimRight(e.said.Clean(failure.Detail), " ;:,") // more may be said behind it
	return &said
}

// withholds says why nobody may read what a driver says, in place of that, "" if they may. isGone: what it may quote
// nobody has any more, but for the driver.
func (e ears) withholds(c hal.Call, driver string, volume []string) (why string, isGone bool) {
	// Before the reading, which takes its time: a source may name a Secret meanwhile, and one may have to make room.
	isComplete, forgotten := e.said.IsComplete(), e.said.Forgotten()
	name, isGone := e.read(c, driver, volume)
	isComplete = isComplete && forgotten == e.said.Forgotten()
	switch {
	case name != "":
		why = "Secret " + name + ", which volnode cannot read"
	case !isComplete:
		why = "a Secret that volnode has not read: it has not read every source, or there are too many Secrets"
	case e.said.IsLent(driver, e.runtime.Now()):
		why, isGone = "a token that an earlier run has given to the driver", true
	default:
		return "", false
	}
	return "message withheld: it may quote " + why, isGone
}

// read reads the secrets that a driver may quote, and returns the name of one that can't be read, "" if there is none.
// isGone: nobody has it any more, but for the driver, to which it was given in an earlier life.
func (e ears) read(c hal.Call, driver string, volume []string) (name string, isGone bool) {
	c.Deadline = e.runtime.Now().Add(secretTimeout)
	for _, name := range append(slices.Clone(volume), e.said.Expected()...) {
		namespace, short, _ := strings.Cut(name, "/")
		_, err := e.Secret(c, namespace, short)
		switch {
		case err == nil:
		case !hal.Is(err, syscall.ENOENT) || slices.Contains(volume, name):
			return name, false
		case e.said.IsGiven(name, driver):
			return name, true
		}
	}
	return "", false
}

// expect names secrets that drivers may be given.
func (e ears) expect(names []string) {
	for _, name := range names {
		e.said.Expect(name)
	}
}

func (e ears) Watch(f func(hal.ClusterEvent)) { e.cluster.Watch(f) }

// ConfigMap is the cluster's.
func (e ears) ConfigMap(c hal.Call, namespace, name string) (map[string]string, error) {
	return e.cluster.ConfigMap(c, namespace, name)
}

// TrustBundle is the cluster's.
func (e ears) TrustBundle(c hal.Call, name string) (hal.TrustBundle, error) {
	return e.cluster.TrustBundle(c, name)
}

// Pod is the cluster's.
func (e ears) Pod(c hal.Call, namespace, name, uid string) (*corev1.Pod, error) {
	return e.cluster.Pod(c, namespace, name, uid)
}

// Secret learns every secret that is read, so that no driver can tell it from then on. That there is none is known only
// once every source is synced, and never of one that a driver was given.
func (e ears) Secret(c hal.Call, namespace, name string) (hal.Secret, error) {
	s, err := e.cluster.Secret(c, namespace, name)
	if err == nil || hal.Is(err, syscall.ENOENT) && e.said.IsComplete() && !e.said.IsGiven(namespace+"/"+name, "") {
		e.said.Learn(namespace+"/"+name, s)
	}
	return s, err
}

// wordsOf is the text of an error that may contain words of a driver.
func (e ears) wordsOf(err error) string {
	if failure, ok := errors.AsType[*hal.Error](err); ok { // it was heard, but for an endpoint that it names
		told := *failure
		told.Object = e.said.Clean(failure.Object)
		return told.Error()
	}
	return e.said.Clean(err.Error())
}

// discreet is h, through ears.
func (e ears) discreet(h hal.Host) hal.Host {
	h.Cluster, h.CSINode = e, discreetNode{h.CSINode, e, nil}
	h.Registration = discreetRegistration{h.Registration, e}
	h.CSIIdentity = discreetIdentity{h.CSIIdentity, e}
	h.Flex = discreetFlex{h.Flex, e}
	if h.Tokens != nil {
		h.Tokens = discreetTokens{h.Tokens, e}
	}
	return h
}

// discreetTokens cleans what a server says that makes no token.
type discreetTokens struct {
	hal.Tokens
	ears
}

func (d discreetTokens) Token(c hal.Call, r hal.TokenRequest) (hal.Token, error) {
	t, err := d.Tokens.Token(c, r)
	if failure, ok := errors.AsType[*hal.Error](err); ok {
		told := *failure
		told.Detail = d.said.Clean(failure.Detail)
		return t, &told
	}
	if err != nil {
		return t, errors.New(d.said.Clean(err.Error()))
	}
	return t, nil
}

// discreetFlex is FlexVolume drivers. They are given no secrets, and may know some from elsewhere.
type discreetFlex struct {
	hal.FlexDrivers
	ears
}

func (f discreetFlex) Init(c hal.Call, driver string) (hal.FlexCapabilities, error) {
	is, err := f.FlexDrivers.Init(c, driver)
	return is, f.heard(c, driver, nil, err)
}

func (f discreetFlex) Mount(c hal.Call, driver, dir string, options []hal.Option) error {
	return f.heard(c, driver, nil, f.FlexDrivers.Mount(c, driver, dir, options))
}

func (f discreetFlex) Unmount(c hal.Call, driver, dir string) error {
	return f.heard(c, driver, nil, f.FlexDrivers.Unmount(c, driver, dir))
}

type discreetRegistration struct {
	hal.Registration
	ears
}

func (r discreetRegistration) Info(c hal.Call, socket string) (hal.PluginInfo, error) {
	info, err := r.Registration.Info(c, socket)
	return info, r.heard(c, "", nil, err)
}

func (r discreetRegistration) Notify(c hal.Call, socket, made string, registered bool, reason string) error {
	return r.heard(c, "", nil, r.Registration.Notify(c, socket, made, registered, reason))
}

type discreetIdentity struct {
	hal.CSIIdentity
	ears
}

func (i discreetIdentity) PluginInfo(c hal.Call, driver string, r *csi.GetPluginInfoRequest,
) (*csi.GetPluginInfoResponse, error) {
	resp, err := i.CSIIdentity.PluginInfo(c, driver, r)
	return resp, i.heard(c, "", nil, err)
}

// discreetNode is the node service of drivers, for an operation on a volume with secrets, or for nobody's.
type discreetNode struct {
	hal.CSINode
	ears
	volume []string // the volume's secrets, as namespace/name
}

func (n discreetNode) Info(c hal.Call, driver string, r *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	resp, err := n.CSINode.Info(c, driver, r)
	return resp, n.heard(c, "", nil, err) // driver may be an endpoint, of a driver whose name nobody knows yet
}

func (n discreetNode) Capabilities(
	c hal.Call, driver string, r *csi.NodeGetCapabilitiesRequest,
) (*csi.NodeGetCapabilitiesResponse, error) {
	resp, err := n.CSINode.Capabilities(c, driver, r)
	return resp, n.heard(c, "", nil, err) // as of Info
}

func (n discreetNode) Stats(c hal.Call, driver string, r *csi.NodeGetVolumeStatsRequest,
) (*csi.NodeGetVolumeStatsResponse, error) {
	resp, err := n.CSINode.Stats(c, driver, r)
	return resp, n.heard(c, driver, n.volume, err)
}

// discreet is what people may read of a reason and a message of a driver's, which are withheld if why is not "".
func (n discreetNode) discreet(reason, message, why string) (string, string) {
	if why != "" {
		return "", why
	}
	return n.said.Clean(reason), n.said.Clean(message)
}

// Health has texts of the driver's, as errors have.
func (n discreetNode) Health(c hal.Call, driver string, r *csi.NodeGetVolumeHealthRequest,
) (*csi.NodeGetVolumeHealthResponse, error) {
	resp, err := n.CSINode.Health(c, driver, r)
	if all := resp.GetVolumeHealth().GetHealthStatuses(); len(all) > 0 {
		why, _ := n.withholds(c, driver, n.volume)
		for _, of := range all {
			of.Reason, of.Message = n.discreet(of.GetReason(), of.GetMessage(), why)
		}
	}
	return resp, n.heard(c, driver, n.volume, err)
}

// StorageHealth is Health of what is behind the driver.
func (n discreetNode) StorageHealth(c hal.Call, driver string, r *csi.NodeGetStorageHealthRequest,
) (*csi.NodeGetStorageHealthResponse, error) {
	resp, err := n.CSINode.StorageHealth(c, driver, r)
	if all := resp.GetBackendHealth(); len(all) > 0 {
		why, _ := n.withholds(c, driver, nil)
		for _, of := range all {
			of.Reason, of.Message = n.discreet(of.GetReason(), of.GetMessage(), why)
			if mount := of.GetVolumeCapability().GetMount(); mount != nil {
				mount.FsType, _ = n.discreet(mount.GetFsType(), "", why)
			}
		}
	}
	return resp, n.heard(c, driver, nil, err)
}

func (n discreetNode) Stage(c hal.Call, driver string, r *csi.NodeStageVolumeRequest,
) (*csi.NodeStageVolumeResponse, error) {
	resp, err := n.CSINode.Stage(c, driver, r)
	return resp, n.heard(c, driver, n.volume, err)
}

func (n discreetNode) Unstage(c hal.Call, driver string, r *csi.NodeUnstageVolumeRequest,
) (*csi.NodeUnstageVolumeResponse, error) {
	resp, err := n.CSINode.Unstage(c, driver, r)
	return resp, n.heard(c, driver, n.volume, err)
}

func (n discreetNode) Publish(c hal.Call, driver string, r *csi.NodePublishVolumeRequest,
) (*csi.NodePublishVolumeResponse, error) {
	for _, told := range [...]map[string]string{r.GetVolumeContext(), r.GetSecrets()} {
		for _, token := range n.sources.TokensIn(told) {
			n.said.LearnToken(token)
		}
	}
	resp, err := n.CSINode.Publish(c, driver, r)
	return resp, n.heard(c, driver, n.volume, err)
}

func (n discreetNode) Unpublish(c hal.Call, driver string, r *csi.NodeUnpublishVolumeRequest,
) (*csi.NodeUnpublishVolumeResponse, error) {
	resp, err := n.CSINode.Unpublish(c, driver, r)
	return resp, n.heard(c, driver, n.volume, err)
}
