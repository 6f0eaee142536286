package manifest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/internal/wording"
)

// TestTextsCountThePods: one pod stays up, several stay up.
func TestTextsCountThePods(t *testing.T) {
	w := newWorld(t).put("one.yaml", pod("a")).put("two.yaml", pod("b")+"---\n"+pod("c")).start()
	w.born = 8
	w.rm("one.yaml").rm("two.yaml").pass(3 * second)
	require.Contains(t, w.troubles()[dir+"/one.yaml"].Problem, "so it still counts: default/a stays up; ")
	require.Contains(t, w.troubles()[dir+"/two.yaml"].Problem, "so it still counts: default/b, default/c stay up; ")
	for _, uids := range [][]string{{"u-1"}, {"u-1", "u-2"}} {
		require.Empty(t, wording.Wrong(reader{o: Options{Dir: dir}}.troubleOfPods(uids).Problem))
	}
	require.Contains(t, reader{}.troubleOfPods([]string{"u-1"}).Problem, "no manifest names pod u-1, ")
	require.Contains(t, reader{}.troubleOfPods([]string{"u-1", "u-2"}).Problem, "no manifest names the pods u-1, u-2, ")
}

// TestTroublesOfAPod: what concerns a pod is its own file, those of its claims and volumes, what could not be read if
// nothing else holds the pod, and the directory; and nothing else.
func TestTroublesOfAPod(t *testing.T) {
	const web = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, uid: u-web}\nspec:\n  containers: [{name: c, " +
		"image: i}]\n" +
		"  volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]\n"
	w := newWorld(t).put("web.yaml", web).put("claim.yaml", claim("u-c")).put("db.yaml", pod("db")).start()
	concerning := func(pod string) []string { return w.cloud.(*Cluster).Concerning(pod) }
	require.Empty(t, concerning("default/web"))

	w.put("web.yaml", web+"oops: 1\n").put("claim.yaml", claim("u-c")+"oops: 1\n").put("db.yaml",
		pod("db")+"oops: 1\n").put("new.yaml", "name: new\n")
	w.names[dir+"/sub.yaml"] = hal.Info{Type: hal.TypeDirectory} // it holds no manifest, whatever somebody moves there
	w.fail["read "+dir+"/rot.yaml"] = &hal.Error{Op: "read", Errno: 5}
	w.put("rot.yaml", "x").pass(3 * second)
	require.Equal(t, []string{dir + "/claim.yaml", dir + "/web.yaml"}, concerning("default/web"))
	require.Equal(t, []string{dir + "/claim.yaml", dir + "/web.yaml"}, concerning("u-web"))
	require.Equal(t, []string{dir + "/db.yaml"}, concerning("default/db"))
	require.Equal(t, []string{dir + "/new.yaml", dir + "/rot.yaml"}, concerning("default/new"))
	require.Equal(t, []string{dir + "/rot.yaml"}, concerning("default/other"))
	require.Equal(t, []string{dir + "/rot.yaml", dir + "/web.yaml"}, concerning("other/web"),
		"the bad text names a web")

	w.rm("web.yaml").put("move.yaml", "name: web\n").pass(3 * second) // it is kept
	require.Subset(t, concerning("default/web"), []string{"Pod default/web", dir + "/move.yaml"})
	w.names[dir] = hal.Info{Type: hal.TypeFile}
	w.pass(20 * second)
	require.Contains(t, concerning("default/db"), dir)
}

// TestTroublesOfAPodsSecrets: a bad file with a Secret that a volume of the pod needs concerns it, inline or by a
// PersistentVolume, be it of a former plugin, and so does a bad text that names one which no file holds.
func TestTroublesOfAPodsSecrets(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: ns}\nstringData: {a: b}\n"
	const web = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: ns, uid: u-web}\nspec:\n  containers: " +
		"[{name: c, image: i}]\n" +
		"  volumes:\n  - {name: v, persistentVolumeClaim: {claimName: c}}\n" +
		"  - {name: i, csi: {driver: d, nodePublishSecretRef: {name: inline}}}\n" +
		"  - {name: p, persistentVolumeClaim: {claimName: former}}\n" +
		"  - {name: a, azureFile: {secretName: azure, shareName: s}}\n"
	const bound = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c, namespace: ns}\n" +
		"spec: {volumeName: pv, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n---\n" +
		"apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\nspec:\n  accessModes: [ReadWriteOnce]\n  " +
		"capacity: {storage: 1Gi}\n" +
		"  csi: {driver: d, volumeHandle: h, nodeStageSecretRef: {name: staged, namespace: ns}, " +
		"nodePublishSecretRef: {name: missing, namespace: ns}}\n---\n" +
		"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: former, namespace: ns}\n" +
		"spec: {volumeName: former, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n---\n" +
		"apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: former}\nspec:\n  accessModes: [ReadWriteOnce]\n  " +
		"capacity: {storage: 1Gi}\n" +
		"  azureFile: {secretName: azure-pv, secretNamespace: ns, shareName: s}\n"
	w := newWorld(t).put("web.yaml", web).put("pv.yaml", bound).put("inline.yaml", fmt.Sprintf(secret, "inline")).
		put("staged.yaml", fmt.Sprintf(secret, "staged")).put("other.yaml", fmt.Sprintf(secret, "other")).
		put("azure.yaml", fmt.Sprintf(secret, "azure")).put("azure-pv.yaml", fmt.Sprintf(secret, "azure-pv")).start()
	require.Empty(t, w.troubles())
	for _, name := range []string{"inline", "staged", "other", "azure", "azure-pv"} {
		w.put(name+".yaml", fmt.Sprintf(secret, name)+"oops: 1\n")
	}
	w.put("new.yaml", "kind: Secret\nmetadata: {name: missing}\n").pass(3 * second)
	require.Equal(t, []string{
		dir + "/azure-pv.yaml", dir + "/azure.yaml", dir + "/inline.yaml", dir + "/new.yaml", dir + "/staged.yaml",
	}, w.cloud.(*Cluster).Concerning("ns/web"))
}

// TestNamesThatArePassedOver are told when they change, but for those that begin with a dot.
func TestNamesThatArePassedOver(t *testing.T) {
	var told [][]string
	w := newWorld(t).put("a.yaml", pod("a")).put("b.yml~", pod("b")).put(".c.yaml", pod("c")).put("d", "").start()
	w.cloud.(*Cluster).o.Passed = func(names []string) { told = append(told, names) }
	w.cloud.(*Cluster).passed = nil
	w.put("e.yaml", pod("e")).pass(second)
	w.rm("d").pass(second)
	w.rm("b.yml~").pass(second)
	require.Equal(t, [][]string{{"b.yml~", "d"}, {"b.yml~"}, nil}, told)
	require.Empty(t, w.troubles())
}
