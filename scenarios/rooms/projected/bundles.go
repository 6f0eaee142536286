package projected

import (
	"bytes"
	"encoding/pem"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is what S20 says of the certificates of ClusterTrustBundles: a file has those of some version of each
// bundle that its source names or chooses, each once.

// bundles are the files that a source can make; of the present versions alone, if isPresent.
func bundles(
	r *world.Run, p *world.Pod, b *corev1.ClusterTrustBundleProjection, byDefault *int32, isPresent bool,
) (all []map[string]file) {
	user, isOwned := world.UserOf(p.Object)
	sets := [][][]byte{nil} // of certificates
	isNone := []bool{true}  // no bundle is in that set
	for _, h := range r.BundlesOf(b) {
		held := h.Held
		if isPresent {
			held = held[len(held)-1:]
		}
		var next [][][]byte
		var none []bool
		for i, set := range sets {
			for _, data := range held {
				if !world.IsChosen(b, strings.TrimPrefix(h.Name, "/"), data) {
					next, none = append(next, set), append(none, isNone[i])
					continue
				}
				next, none = append(next, append(slices.Clone(set), certificates(data[sim.BundleField])...)), append(none, false)
			}
		}
		sets, isNone = next, none
	}
	for i, set := range sets {
		if isNone[i] && (b.Optional == nil || !*b.Optional) {
			continue
		}
		f := file{text: together(set), mode: 0o644, uid: user}
		if byDefault != nil {
			f.mode = uint32(*byDefault)
		}
		all = append(all, map[string]file{b.Path: f})
		if isOwned || slices.ContainsFunc(p.Groups, func(group string) bool { return group != "" }) {
			f.mode = 0o600
			all = append(all, map[string]file{b.Path: f})
		}
	}
	return all
}

// certificates are those of a bundle.
func certificates(text string) (all [][]byte) {
	for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
		all = append(all, block.Bytes)
	}
	return all
}

// together is a file of certificates, each once and in order.
func together(set [][]byte) string {
	set = slices.Clone(set)
	slices.SortFunc(set, bytes.Compare)
	var text []byte
	for _, der := range slices.CompactFunc(set, bytes.Equal) {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	return string(text)
}

// The bundles of hunts. Two are of a signer.
const (
	signer                  = "example.com/ca"
	bundleA, bundleB, plain = "example.com:ca:a", "example.com:ca:b", "plain"
)

// bundleOf is what a bundle of a hunt holds in a version: other certificates, one of them twice, and at times a label
// that nobody chooses.
func bundleOf(name string, version int) map[string]string {
	some := []string{first, second, third}
	data := map[string]string{
		sim.BundleField:         "a comment\n" + some[version%3] + some[(version+1)%3] + some[version%3],
		sim.LabelField + "live": []string{"yes", "yes", "no"}[version%3],
	}
	if name != plain {
		data[sim.SignerField] = signer
	}
	return data
}

// certificatesOf is the sources of the certificates of the signer and of the plain bundle.
func certificatesOf() []corev1.VolumeProjection {
	by, name, yes := signer, plain, true
	return []corev1.VolumeProjection{
		{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{
			SignerName: &by, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"live": "yes"}},
			Path: "signer.pem",
		}},
		{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Name: &name, Optional: &yes, Path: "plain.pem"}},
	}
}

// The certificates of hunts, of authorities whose keys nobody has.
const (
	first = `-----BEGIN CERTIFICATE-----
MIIBPzCB5aADAgECAgEBMAoGCCqGSM49BAMCMA4xDDAKBgNVBAMTA29uZTAgFw0y
NjAxMDEwMDAwMDBaGA8yMTI2MDEwMTAwMDAwMFowDjEMMAoGA1UEAxMDb25lMFkw
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAERDhheAQuvds9DdunRBug6mNSXF7iTpQs
mFN25H7OBZq6K7WRSkuwlAGAUwWOD7XTkMcJFJQ8yxqsrf79hmCq46MyMDAwDwYD
VR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQU48GIbdLAgIqjVgcYjPuuruXp+BowCgYI
KoZIzj0EAwIDSQAwRgIhAOKcR3ghX5G7FRQ1rw3Gb7MZgU+CSxiVuSsESDQPSnFh
AiEA86/iF+EcuUk9+xZ8n8xaYBFA35jImOqHIdXR/uVLwiQ=
-----END CERTIFICATE-----
`
	second = `-----BEGIN CERTIFICATE-----
MIIBPTCB5aADAgECAgECMAoGCCqGSM49BAMCMA4xDDAKBgNVBAMTA3R3bzAgFw0y
NjAxMDEwMDAwMDBaGA8yMTI2MDEwMTAwMDAwMFowDjEMMAoGA1UEAxMDdHdvMFkw
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaGpix6ocWft0V4LSB4nBOkH6TDx9P+GW
Rt/YrCvJ7J1ww5Vb75EbXWMeCwIcsnopjZMVdIywVAhOlzd9Pfy3jKMyMDAwDwYD
VR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQUp/OKIxx5hnLsN6GP/9i3IKDilvIwCgYI
KoZIzj0EAwIDRwAwRAIgGANfcbEEPsxUkwaRUJKsNDTMBVTVjpxvx8NB4JAG+boC
IDwPRWAUG5KC0S1fcjikWc0DND6AEBuPnoquH/UCjLy/
-----END CERTIFICATE-----
`
	third = `-----BEGIN CERTIFICATE-----
MIIBQTCB6aADAgECAgEDMAoGCCqGSM49BAMCMBAxDjAMBgNVBAMTBXRocmVlMCAX
DTI2MDEwMTAwMDAwMFoYDzIxMjYwMTAxMDAwMDAwWjAQMQ4wDAYDVQQDEwV0aHJl
ZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABGmzWP0otKiHTbKRut52q8KjGYTo
ZapGsn/J/ni1BJM5akF5beMxeneJyey7FrxvWizsuxoaGiJnPGI/m8eTsw6jMjAw
MA8GA1UdEwEB/wQFMAMBAf8wHQYDVR0OBBYEFGP9Ek7WllkS1pjtIo4JvyYxUTLj
MAoGCCqGSM49BAMCA0cAMEQCIE8WC0hQIjaHkUBQTGVA6QizMWdTH0Ng45cgURqA
sEdMAiBqCPlkBUbiYnFxHQRitehKmgfdA+9RNaH/vky4C6Fixw==
-----END CERTIFICATE-----
`
)
